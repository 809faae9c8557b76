"""Pseudo-references: which outputs of other systems stand beside the gold references, and for which systems they may."""
