"""Classifiers of paraphrases."""
