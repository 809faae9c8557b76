"""People's judgements of translations: read from every published layout, as arrays."""
