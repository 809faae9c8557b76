"""Pseudo-references: which outputs of other systems may join the gold references, and for which systems."""
