"""Training of the pairwise network."""
