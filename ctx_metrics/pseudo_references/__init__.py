"""Pseudo-references: which outputs of other systems stand beside the gold references, and for which systems they may."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
