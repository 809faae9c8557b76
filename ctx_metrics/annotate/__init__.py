"""Score tables of any size, and select their best rows."""
