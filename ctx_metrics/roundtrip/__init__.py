"""Back-translation of system outputs into the source language: the first step of the round-trip metrics."""
