"""The training of quality models."""
