"""Round-trip metrics (Moon et al. 2020), and the back-translation of outputs that they need."""

from .. import engine  # noqa: F401  before any module imports torch: it sets how threads wait
