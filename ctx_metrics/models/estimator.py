"""The one interface through which `comet`, `slide` and later metrics see a learned model of translation quality."""

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

    inputs          the texts that it reads, such as "mt+ref" or "mt+src"
    model           where its weights came from
    english_only    whether it reads English alone
    max_length      most tokens of one text, specials not counted
    dtype           number format of its encoder, as in the signature
    """

    inputs: str
    model: ResolvedModel
    english_only: bool
    max_length: int
    dtype: str

    @abstractmethod
    def estimate(self, examples: Sequence[Example], label: str) -> list[Estimate]:
        """The estimate of each example; the same for an example in whatever order or company."""

    @abstractmethod
    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        """Tokens of each example's texts together, as the model reads them, specials not counted."""

    @property
    @abstractmethod
    def special_tokens(self) -> int:
        """Special tokens that one example costs beside them."""

    def signature(self) -> dict:
        """The signature's part on the model: model, rev, ckpt, inputs, dtype, maxlen, long."""
        return {
            **self.model.signature(),
            "inputs": self.inputs,
            "dtype": self.dtype,
            "maxlen": self.max_length,
            "long": "truncate",
        }


def load_estimator(name: Optional[str], options: EngineOptions) -> Estimator:
    """The estimator of a name: None or "embedded", or the folder of a regressor that our training wrote.

    Raises ModelError for anything else; COMET checkpoints are not read yet.
    """
    from .regressor import CONFIG_KIND, AlignmentRegressor, read_regressor_config

    if name in (None, EMBEDDED):
        return AlignmentRegressor(EMBEDDED_FOLDER, options)
    mend = "use embedded, or the folder of a regressor trained with ctx_metrics.training"
    folder = Path(name).expanduser()
    if folder.suffix == ".ckpt" or (folder / "hparams.yaml").exists():
        raise ModelError(f"{name}: COMET checkpoints are not read by this version; {mend}")
    if not name or not folder.is_dir():
        hub = "/" in name and not name.startswith((".", "/", "~"))
        more = ", and COMET checkpoints of the hub are not read by this version" if hub else ""
        raise ModelError(f"no model folder {name!r}{more}; {mend}")
    if read_regressor_config(folder).get("model_type") != CONFIG_KIND:
        raise ModelError(f"{name} is no quality model: its config.json does not say model_type {CONFIG_KIND!r}")
    return AlignmentRegressor(folder, options)
