"""Significance tests, confidence intervals and ranks."""
