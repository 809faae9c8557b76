"""The networks that ctx-metrics trains to estimate quality."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
