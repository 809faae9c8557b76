"""Caches of trainings: data computed from texts, on disk."""
