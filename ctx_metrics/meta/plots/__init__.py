"""Figures of an evaluation, drawn with matplotlib (the extra `plot`), which is imported only to draw or save one."""

from .bars import agreement_bars
from .figure import check, check_figure, save
from .heatmap import window_heatmap
from .lines import agreement_by_length
from .scatter import system_scatter

__all__ = ["agreement_bars", "agreement_by_length", "check", "check_figure", "save", "system_scatter", "window_heatmap"]
