"""Paraphrase classifiers."""
