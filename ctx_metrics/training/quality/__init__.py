"""Training of quality models."""
