"""Training of the paraphrase classifier."""
