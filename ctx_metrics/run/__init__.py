"""One run, from any command or from Python: from its texts to their scores."""
