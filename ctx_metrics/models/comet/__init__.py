"""COMET models."""
