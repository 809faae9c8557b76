"""A page to look at scores: which systems are apart, which segments and documents are weak, and why."""
