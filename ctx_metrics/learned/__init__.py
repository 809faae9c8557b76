"""The networks that ctx-metrics trains to estimate quality."""
