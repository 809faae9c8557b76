"""Pseudo-references: which outputs of other systems may join the gold references, and for which systems."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
