"""The one interface through which `comet`, `slide` and later metrics see a learned model of translation quality."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from ..engine.options import EngineOptions
from ..errors import ModelError
from .hub import EMBEDDED, ResolvedModel

EMBEDDED_FOLDER = Path(__file__).parent / "embedded" / "regressor"


class Example(NamedTuple):
    """What a model scores as one input: a segment, or a window of segments joined. Unused texts are None."""

    hypothesis: str
    reference: Optional[str] = None
    source: Optional[str] = None


class ErrorSpan(NamedTuple):
    """An error that a model marks in the hypothesis: characters start..end-1 of it.

    text          the span's tokens, decoded
    severity      minor, major or critical
    confidence    mean probability of its tokens' labels, 0-1
    """

    text: str
    severity: str
    confidence: float
    start: int
    end: int


class Estimate(NamedTuple):
    """What a model says of one example.

    value    on the model's own scale, mostly 0-1
    cut      whether a text was cut to the model's length
    empty    whether a text has no tokens
    parts    named parts of the value, for models that have them (src, ref, unified, mqm)
    spans    errors marked in the hypothesis, None where the model marks none or was not asked to
    """

    value: float
    cut: bool
    empty: bool
    parts: dict[str, float] = {}
    spans: Optional[list[ErrorSpan]] = None


class Estimator(ABC):
    """A learned model of translation quality.

    inputs               the texts that it reads, such as "mt+ref" or "mt+src"
    choices              what else `inputs` could be set to when it is loaded, where there is a choice
    model                where its weights came from
    english_only         whether it reads English alone
    empty_value          the value that an empty text makes, None: what the model says of it
    max_length, limit    most tokens that it reads, as a number for the signature and in words
    dtype                number format of its encoder, as in the signature
    """

    inputs: str
    choices: Sequence[str] = ()
    model: ResolvedModel
    english_only: bool
    empty_value: Optional[float]
    max_length: int
    limit: str
    dtype: str

    @abstractmethod
    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        """The estimate of each example; the same for an example in whatever order or company.

        label    what a progress bar says
        unit     what the examples are: "segment" or "window"
        """

    @abstractmethod
    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        """Whether a text of each example is longer than the model reads, told without scoring it."""

    @abstractmethod
    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        """Tokens of each example's texts together, as the model reads them, specials not counted."""

    @property
    @abstractmethod
    def special_tokens(self) -> int:
        """Special tokens that one example costs beside them."""

    def signature(self) -> dict:
        """The signature's part on the model: model, rev, ckpt, inputs, dtype, maxlen."""
        return {
            **self.model.signature(),
            "inputs": self.inputs,
            "dtype": self.dtype,
            "maxlen": self.max_length,
        }


def load_estimator(
    name: Optional[str],
    options: EngineOptions,
    inputs: Optional[str] = None,
    spans: bool = False,
    context: bool = False,
) -> Estimator:
    """The estimator of a name: None or "embedded", the folder of any model that `ctx-metrics train` wrote, or a COMET
    checkpoint (folder, .ckpt file, OWNER/NAME or OWNER/NAME@REVISION of the hub).

    inputs     texts that a COMET model shall read, where it leaves a choice: "mt+src", "mt+ref", "mt+src+ref"
    spans      whether it shall mark error spans
    context    whether only what follows a text's last but one separator is pooled (DocCOMET)
    Raises ModelError for what cannot be loaded, or not used in that way.
    """
    from .comet_checkpoint import is_comet, no_model
    from .learned_estimator import LearnedEstimator, kind_of
    from .regressor import CONFIG_KIND, AlignmentRegressor
    from .trained import read_config

    if name == "":
        raise ModelError(
            "the name of the model is empty; name embedded, a folder, a .ckpt file, or OWNER/NAME of the hub"
        )
    folder = EMBEDDED_FOLDER if name in (None, EMBEDDED) else Path(os.path.expanduser(name))
    if folder.suffix == ".ckpt" or not folder.is_dir() or is_comet(folder):
        from .comet import load_comet

        return load_comet(str(name), options, inputs, spans, context)
    if not (folder / "config.json").exists():
        raise ModelError(no_model(folder))
    config = read_config(folder)
    if config.get("model_type") == CONFIG_KIND:
        estimator: Estimator = AlignmentRegressor(folder, options)
    elif kind_of(config):
        estimator = LearnedEstimator(folder, options)
    elif config.get("model_type") == "ctx-pairwise":
        raise ModelError(f"{name} is a pairwise model: use -m pairwise --pairwise-model {name}")
    else:
        raise ModelError(
            f"{name} is no quality model: it is no COMET checkpoint (hparams.yaml, checkpoints/*.ckpt), "
            "and its config.json names no model_type that `ctx-metrics train` writes"
        )
    other = inputs not in (None, estimator.inputs)
    for what, wanted in (("error spans", spans), ("document context", context), (f"inputs {inputs}", other)):
        if wanted:
            raise ModelError(
                f"{estimator.model.name} reads {estimator.inputs} and knows no {what}; name a COMET checkpoint"
            )
    return estimator
