"""The relations of metrics, so that one overrates the other's choices."""

import re
from pathlib import PurePath
from types import MappingProxyType
from typing import NamedTuple

from ..scoring.names import signature_entries

# Metrics that learn from people's judgements of WMT. Each overrates what another one of them chose (Pombal et al. 2025, and
# Kovacs, Deutsch and Freitag 2024, https://arxiv.org/abs/2411.03524).
LEARNED = frozenset("comet slide doccomet metricx bleurt esim bilstm bilstmatt pairwise".split())
# Metrics that compute another one, or a variant of it, on these or other texts.
DERIVED = MappingProxyType(
    {
        **dict.fromkeys(("nist", "prbleu", "prsentbleu", "rttbleu", "rttsentbleu"), "bleu"),
        **dict.fromkeys(("prchrf", "rttchrf"), "chrf"),
        **dict.fromkeys(("bertr", "rttbertscore"), "bertscore"),
    }
)
# The encoders of the models in the package, by how the models' names begin; the first that fits counts.
ENCODERS = MappingProxyType(
    {"embedded-unified": "e5", "embedded-referenceless": "e5", "multilingual": "e5", "embedded": "MiniLM"}
)
# How two metrics can be related, the closest first; "" if they are not.
SAME, MODEL, OTHER_MODEL, KIN, ENCODER, PEOPLE = RELATIONS = (
    "the same metric",
    "the same model",
    "the same metric with another model",
    "made of the same metric",
    "the same encoder",
    "both learned from human judgements",
)


class Measure(NamedTuple):
    """A metric with its model.

    metric      its name in lower case
    model       the model's name; "" if there is none, or it is unknown
    ckpt        the hash of the model's files; "" if it is unknown
    features    the names of the metrics that it is made of
    """

    metric: str
    model: str = ""
    ckpt: str = ""
    features: frozenset[str] = frozenset()

    @classmethod
    def of_signature(cls, metric: str, signature: str) -> "Measure":
        """Return the metric that a signature belongs to.

        >>> Measure.of_signature("comet", "nrefs:1|model:Unbabel/wmt22-comet-da|ckpt:2760a223ac95")[1:3]
        ('Unbabel/wmt22-comet-da', '2760a223ac95')
        """
        keys = signature_entries(signature)
        features = re.findall(r"(?:^|\+)([a-z]+)", keys.get("features", ""))
        return cls(metric, keys.get("model", ""), keys.get("ckpt", ""), frozenset(features))

    def __str__(self) -> str:
        return f"{self.metric}:{self.model}" if self.model else self.metric

    @property
    def encoder(self) -> str:
        return next((encoder for start, encoder in ENCODERS.items() if self.model.startswith(start)), "")

    @property
    def parts(self) -> frozenset[str]:
        return self.features | {self.metric, DERIVED.get(self.metric, self.metric)}

    def has_model_of(self, other: "Measure") -> bool:
        if self.ckpt and other.ckpt:
            return self.ckpt == other.ckpt
        return bool(self.model and other.model) and _bare(self.model) == _bare(other.model)


class Tuning(NamedTuple):
    """A metric with which a system was tuned; the system "" stands for all."""

    system: str
    measure: Measure

    def __str__(self) -> str:
        return f"tuned with {self.measure}"


def relation(one: Measure, other: Measure) -> str:
    """Return the closest of RELATIONS in which two metrics are; "" if they are not related.

    >>> relation(Measure("comet", "Unbabel/wmt22-comet-da"), Measure("slide", "wmt22-comet-da"))
    'the same model'
    >>> relation(Measure("metricx"), Measure("comet")), relation(Measure("chrf"), Measure("comet"))
    ('both learned from human judgements', '')
    """
    if one.metric == other.metric:
        known = (one.model or one.ckpt) and (other.model or other.ckpt)
        return OTHER_MODEL if known and not one.has_model_of(other) else SAME
    if one.has_model_of(other):
        return MODEL
    if one.parts & other.parts:
        return KIN
    if one.encoder and one.encoder == other.encoder:
        return ENCODER
    return PEOPLE if {one.metric, other.metric} <= LEARNED else ""


def _bare(model: str) -> str:
    """Return a model's name without its folders, its owner on the hub and its revision."""
    return PurePath(model.partition("@")[0]).name.removesuffix(".ckpt").lower()
