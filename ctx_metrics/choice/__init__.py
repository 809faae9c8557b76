"""Chooses among the candidates of each source: minimum Bayes risk decoding and reranking."""
