"""Figures drawn with matplotlib (the extra `plot`), which is imported only to draw or save one."""
