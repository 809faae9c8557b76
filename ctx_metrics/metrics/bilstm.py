"""BiLSTM: a trained metric (Mathur, Baldwin and Cohn 2019, section 3.2)."""

from .learned import LearnedMetric


class BiLSTM(LearnedMetric):
    """BiLSTM states of both texts, pooled and compared as vectors. Takes what LearnedMetric takes."""

    NAME = "BiLSTM"
