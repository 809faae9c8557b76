"""Corpora of any size: score tables block by block, in this process or on Ray, and keep the results of finished blocks."""
