"""The measures of agreement, as functions of arrays."""
