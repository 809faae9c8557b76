"""Tests, intervals and ranks."""
