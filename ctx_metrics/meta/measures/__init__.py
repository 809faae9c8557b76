"""The measures of agreement, functions of arrays."""
