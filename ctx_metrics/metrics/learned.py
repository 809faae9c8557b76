"""BiLSTM, BiLSTM with attention and ESIM: trained metrics (Mathur, Baldwin and Cohn 2019, section 3.2)."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..run.context import Stream
from ..scoring.base import ContextScore, ContextSignature
from ..scoring.estimated import EstimatorMetric, add_reading_arguments

if TYPE_CHECKING:
    from ..models.estimator import Estimator


class LearnedScore(ContextScore):
    """100 times the mean of predicted human scores in standard deviations: 0 is a translation as good as the mean of those
    that the model was trained on. Not bounded; of the same texts twice it is high, not 100."""


class LearnedSignature(ContextSignature):
    """nrefs, model, rev, ckpt, inputs, dtype, maxlen, long, multiref, scale and versions."""


class LearnedMetric(EstimatorMetric):
    """Mean over segments of a trained network's prediction of the human score. Subclasses name the network.

    references    streams of references for scoring with references=None
    model         "embedded" (the default, English), a folder that `ctx-metrics train` wrote, or a hub name[@revision]
    on_long       "truncate" cuts and counts texts longer than the model reads, "error" refuses them
    multiref      "max" takes the best of several references' values, "mean" their average
    context       systems, sources (for models trained on mt+src, which read them in the reference's place), target_lang and
                  engine, as run.context.Context describes them

    A segment whose hypothesis or reference has no tokens has the score of the worst judgement in training and is counted.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.
    """

    _SIGNATURE_TYPE = LearnedSignature
    _SCORE_TYPE = LearnedScore

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        on_long: str = "truncate",
        multiref: str = "max",
        **context: Any,
    ):
        super().__init__(references, model, on_long, multiref, {"kind": self.NAME.lower()}, systems=systems, **context)

    @staticmethod
    def _load_estimator(**load: Any) -> "Estimator":
        from ..models.learned.estimator import load_learned

        return load_learned(**load)

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --NAME-* of the sacrebleu command."""
        name = cls.NAME.lower()
        group.add_argument(
            f"--{name}-model",
            default=None,
            metavar="MODEL",
            help="embedded, a folder that `ctx-metrics train` wrote, or a hub name[@revision]. "
            "(Default: embedded, English only)",
        )
        add_reading_arguments(group, name)


class BiLSTM(LearnedMetric):
    """BiLSTM states of both texts, pooled and compared as vectors. Takes what LearnedMetric takes."""

    NAME = "BiLSTM"


class BiLSTMAtt(LearnedMetric):
    """BiLSTM states of both texts, replaced by what they attend to in the other one, pooled and compared.

    Takes what LearnedMetric takes.
    """

    NAME = "BiLSTMAtt"


class ESIM(LearnedMetric):
    """Attention between the two texts, and a second BiLSTM over what it compares (Chen et al. 2017).

    Takes what LearnedMetric takes.
    """

    NAME = "ESIM"
