"""Choosing among candidates of one source: minimum Bayes risk decoding and reranking."""
