"""Figures drawn with matplotlib (the extra `plot`), which is imported only to draw or save one: their style, how they are
saved, and the matrix of pairwise comparisons of systems."""

from .figure import check, check_figure, save

__all__ = ["check", "check_figure", "save"]
