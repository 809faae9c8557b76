"""Metrics that match the tokens of two texts by the hidden states of an encoder."""

import argparse
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..errors import InputError
from ..language import guard_english
from ..notices import notice
from ..run.context import Capabilities, Stream
from .base import ContextMetric, SystemResult
from .segment_counts import places_of_pairs, results_of_pairs

if TYPE_CHECKING:
    import torch

    from ..engine.pairs import EncodedText

Layers = int | str | Sequence[int]
Matching = Callable[["EncodedText", "EncodedText"], float]


class TokenMatchingMetric(ContextMetric):
    """A value of each pair (hypothesis, reference) from the hidden states of their tokens, each text read alone.

    Subclasses set NAME and `flag`, and write `_matching`.

    references    streams of references for scoring with references=None
    model         "embedded" (the default), a folder or a hub name[@revision]
    layers        as layer_mixes takes them; default: `embedded_layers` of the embedded encoder, "mean" of any other
    max_length    tokens kept of each text, specials not counted; default and most: what the encoder can read
    multiref      "max" takes the best of several references' values, "mean" their average
    context       systems, target_lang and engine, as run.context.Context describes them

    A segment whose hypothesis or reference has no tokens scores 0 and is counted.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.
    """

    capabilities = Capabilities(reads=frozenset({"systems", "target_lang", "engine"}))

    def __init__(
        self,
        references: Sequence[Stream] | None,
        model: str | None,
        layers: Layers | None,
        embedded_layers: str,
        max_length: int | None,
        multiref: str,
        **context: Any,
    ):
        super().__init__(references, **context)
        from ..engine.encoder import shared_encoder
        from ..models import hub

        name = self.NAME.lower()
        if multiref not in ("max", "mean"):
            raise InputError(f"{name}: multiref {multiref!r} is neither max nor mean")
        if max_length is not None and max_length < 1:
            raise InputError(
                f"{name}: a maximum length of {max_length} tokens leaves nothing to compare; give at least 1"
            )
        target_lang, engine = self._context.target_lang, self._context.engine
        self.asked, self.multiref = model is not None, multiref
        self.model = hub.resolve(hub.EMBEDDED if model is None else model)
        self.english_only = self.model.embedded
        if self.model.embedded and target_lang:
            guard_english(name, f"{self.flag}-model", self.asked, target_lang, ())
        self.encoder = shared_encoder(self.model.folder, engine)
        layers = layers if layers is not None else embedded_layers if self.model.embedded else "mean"
        self.mixes = layer_mixes(layers, self.encoder.layers, name)
        self.encoder.require(self.mixes)
        if max_length is not None and max_length > self.encoder.max_content:
            notice(f"{name}: the model reads {self.encoder.max_content} tokens of a text, not {max_length}")
        self.max_length = min(max_length or self.encoder.max_content, self.encoder.max_content)
        self.settings = {
            **self.model.signature(),
            "inputs": "mt+ref",
            "layers": layers if layers in ("mean", "concat_last4") else ",".join(map(str, self.mixes[0])),
            "multiref": multiref,
            "dtype": engine.dtype,
            "maxlen": self.max_length,
            "long": "truncate",
        }

    @abstractmethod
    def _matching(self, references: Sequence[Stream]) -> Matching:
        """The value of an encoded pair (hypothesis, reference); `references` are those of the run."""

    def _as_read(self, text: str) -> str:
        """A text as the tokenizer is given it."""
        return text

    def _states(self, text: "EncodedText") -> "torch.Tensor":
        """The states of all tokens, also the special ones at both ends: [tokens, width of the mixes together]."""
        import torch

        return torch.cat([text.states[mix] for mix in self.mixes], dim=1)

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        from ..engine.pairs import map_pairs, one_by_one

        matching = one_by_one(self._matching(corpora[0].references))
        places = places_of_pairs([corpus.references for corpus in corpora])
        pairs = [
            (self._as_read(corpora[system].hypotheses[i]), self._as_read(corpora[system].references[k][i] or ""))
            for system, i, k in places
        ]
        results = map_pairs(self.encoder, pairs, self.mixes, matching, self.max_length, self.NAME.lower())
        shape = len(corpora), len(corpora[0])
        return results_of_pairs(places, results, shape, self.multiref, self.max_length)


def layer_mixes(layers: Layers, depth: int, name: str = "bertr") -> list[tuple[int, ...]]:
    """The layers to average, and concatenate, of an encoder of `depth` transformer layers.

    layers    a layer's number (0 is the embedding layer), a list of numbers to average or a text such as "3,4",
              "mean" of the transformer layers, or "concat_last4"
    name      the metric's, for messages

    Raises InputError for layers that the encoder does not have.

    >>> layer_mixes("4,3", 6), layer_mixes("mean", 3), layer_mixes("concat_last4", 6)
    ([(3, 4)], [(1, 2, 3)], [(3,), (4,), (5,), (6,)])
    """
    if layers == "mean":
        return [tuple(range(1, depth + 1))]
    if layers == "concat_last4":
        if depth < 3:
            raise InputError(f"{name}: concat_last4 needs four hidden layers, and this encoder has {depth + 1}")
        return [(number,) for number in range(depth - 3, depth + 1)]
    given = [layers] if isinstance(layers, int) else layers
    try:
        numbers = sorted({int(number) for number in (given.split(",") if isinstance(given, str) else given)})
    except ValueError:
        raise InputError(
            f"{name}: layers {layers!r} is no layer number, no list such as 3,4,5, and neither mean nor concat_last4"
        ) from None
    if not numbers or numbers[0] < 0 or numbers[-1] > depth:
        raise InputError(f"{name}: layers {layers} are not all in 0..{depth}, which this encoder has")
    return [tuple(numbers)]


def paper_language(target_lang: str | None, name: str, flag: str) -> str:
    """The language, without region, by which "paper" chooses an encoder; raises InputError where it is unknown.

    >>> paper_language("zh_CN", "bertr", "--bertr")
    'zh'
    """
    if not target_lang:
        raise InputError(f"{name}: {flag}-model paper depends on the target language; name the language pair with -l")
    return target_lang.lower().replace("_", "-").split("-")[0]


def add_encoder_arguments(
    group: argparse._ArgumentGroup, name: str, flag: str, paper: str, default_layers: str
) -> None:
    """The flags FLAG-model and FLAG-layers, parsed into NAME_model and NAME_layers.

    paper             what the model "paper" is, in words
    default_layers    the layers of models that have their own default, in words
    """
    group.add_argument(
        f"{flag}-model",
        dest=f"{name}_model",
        default=None,
        metavar="MODEL",
        help=f"embedded, paper ({paper} for the target language), a folder, or a hub name[@revision]. "
        "(Default: embedded, English only)",
    )
    group.add_argument(
        f"{flag}-layers",
        dest=f"{name}_layers",
        default=None,
        metavar="LAYERS",
        help="A layer number, several to average (3,4,5), mean, or concat_last4. "
        f"(Default: {default_layers}, mean for any other model)",
    )


def add_text_arguments(group: argparse._ArgumentGroup, name: str) -> None:
    """The flags --NAME-max-length and --NAME-multiref."""
    group.add_argument(
        f"--{name}-max-length",
        type=int,
        default=None,
        metavar="N",
        help="Tokens kept of each text; longer ones are cut and counted. (Default: what the model can read)",
    )
    group.add_argument(
        f"--{name}-multiref",
        choices=["max", "mean"],
        default="max",
        help="Score of several references. (Default: %(default)s)",
    )
