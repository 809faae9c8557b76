"""Synthetic errors: clean translations with what is done to them, for `ctx-metrics train comet --synthetic`."""
