from .. import engine  # noqa: F401  must come before any module imports torch: it sets how threads wait
