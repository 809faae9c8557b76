"""Synthetic errors: changes made to clean translations, for `ctx-metrics train comet --synthetic`."""
