"""Round-trip metrics (Moon et al. 2020), and the back-translation of outputs that they need."""
