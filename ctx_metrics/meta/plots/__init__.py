"""Figures of an evaluation."""

from .bars import agreement_bars
from .heatmap import window_heatmap
from .lines import agreement_by_length
from .scatter import system_scatter

__all__ = ["agreement_bars", "agreement_by_length", "system_scatter", "window_heatmap"]
