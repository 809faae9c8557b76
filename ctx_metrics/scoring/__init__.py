"""Building blocks of metrics: base classes, rows, scores, tests."""
