"""Corpora of any size: tables read and scored block by block, here or on Ray, and what is kept of finished blocks."""
