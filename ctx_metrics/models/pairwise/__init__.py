"""The model that tells which of two outputs is better."""
