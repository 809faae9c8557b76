"""The model that predicts which of two outputs is better."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
