"""Tables of any size: scores beside their rows, and the best of the rows."""
