"""Pairwise evaluation: rank several systems by comparing their outputs in pairs.

A learned metric gives the probability that one of two translations of a segment is better, given the reference. The metric
pairwise of `sacrebleu` and `ctx-metrics score` turns these probabilities into a score; this command ranks systems.
"""

SUMMARY = "rank systems by comparing their outputs in pairs"
