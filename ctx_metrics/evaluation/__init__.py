"""Python in three lines: `evaluate` scores lists of texts as the commands score files, `predict` a list of samples."""
