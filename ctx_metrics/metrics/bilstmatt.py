"""BiLSTM with attention: a trained metric (Mathur, Baldwin and Cohn 2019, section 3.2)."""

from .learned import LearnedMetric


class BiLSTMAtt(LearnedMetric):
    """BiLSTM states of both texts, replaced by what they attend to in the other one, pooled and compared.

    Takes what LearnedMetric takes.
    """

    NAME = "BiLSTMAtt"
