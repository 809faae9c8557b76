"""Documents whose lines do not match: which words of a hypothesis belong to which segment of the reference or source."""
