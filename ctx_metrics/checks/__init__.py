"""Checks of a run's texts before scoring. They give notice, and never affect a score."""
