"""The model that predicts which of two outputs is better."""
