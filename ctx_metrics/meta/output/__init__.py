"""Prints and writes the results of an evaluation."""
