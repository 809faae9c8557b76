"""The training of the paraphrase classifier."""
