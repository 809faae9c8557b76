"""Back-translation of system outputs into the source language: the first step of the round-trip metrics."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
