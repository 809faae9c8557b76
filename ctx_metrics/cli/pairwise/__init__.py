"""Pairwise evaluation: which of several systems is best?

A learned metric says, for two translations of a segment and its reference, how likely the one is better. The metric
pairwise of `sacrebleu` and `ctx-metrics score` makes a score of that; here it ranks systems.
"""

SUBCOMMANDS = {"rank": "rank systems by who beats whom"}
