"""Figures drawn with matplotlib (the extra `plot`), which is imported only to draw or save one: how they look, how they are
saved, and the matrix of systems compared in pairs."""

from .figure import check, check_figure, save

__all__ = ["check", "check_figure", "save"]
