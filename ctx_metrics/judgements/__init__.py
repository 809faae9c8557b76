"""Human judgements of translations, read from all published formats into arrays."""
