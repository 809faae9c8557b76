"""The training of pairwise."""
