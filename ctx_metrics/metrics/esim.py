"""ESIM: a trained metric (Mathur, Baldwin and Cohn 2019, section 3.2)."""

from .learned import LearnedMetric


class ESIM(LearnedMetric):
    """Attention between the two texts, and a second BiLSTM over what it compares (Chen et al. 2017).

    Takes what LearnedMetric takes.
    """

    NAME = "ESIM"
