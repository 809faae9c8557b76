"""BERTR: recall over contextual embeddings (Mathur, Baldwin and Cohn 2019, section 3.1)."""

from collections.abc import Sequence
from typing import Optional, Union

from ..corpus import Corpus
from ..engine.options import EngineOptions
from ..errors import InputError
from ..language import guard_english
from ..notices import counted, notice, place
from .base import ContextMetric, ContextScore, ContextSignature, SystemResult, best_reference

Layers = Union[int, str, Sequence[int], None]
# The layer with the best segment Pearson on WMT15/16 DA into English: docs/bertr.md shows the choice.
EMBEDDED_LAYER = "4"
# What the paper used for each target language (sections 4.1 and 4.2).
PAPER_MODELS = {"en": "google-bert/bert-base-uncased", "zh": "google-bert/bert-base-chinese"}
PAPER_MODEL_ELSE = "google-bert/bert-base-multilingual-cased"


class BERTRScore(ContextScore):
    """100 times the mean recall over segments, in [-100, 100]; identical texts score 100."""


class BERTRSignature(ContextSignature):
    """nrefs, model, rev, ckpt, inputs, layers, multiref, dtype, maxlen, long, scale and versions."""


class BERTR(ContextMetric):
    """Mean over the reference's tokens of the largest cosine with any hypothesis token.

    references    streams of references for scoring with references=None
    systems       all systems that will be scored against them, so that one pass serves all
    target_lang   language code of hypotheses and references, where known
    model         "embedded" (the default), "paper" (what the paper used for target_lang), a folder or a hub name[@revision]
    layers        a layer's number (0 is the embedding layer), a list of numbers to average, "mean" of the transformer
                  layers, or "concat_last4". Default: layer 4 of the embedded encoder, "mean" of any other
    max_length    tokens kept of each text, specials not counted; default and most: what the encoder can read
    multiref      "max" takes the best of several references' scores, "mean" their average
    engine        device, number format, batch size

    A segment whose hypothesis or reference has no tokens scores 0 and is counted. Special tokens are left out.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.
    """

    NAME = "BERTR"
    _SIGNATURE_TYPE = BERTRSignature
    _SCORE_TYPE = BERTRScore

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        target_lang: Optional[str] = None,
        model: Optional[str] = None,
        layers: Layers = None,
        max_length: Optional[int] = None,
        multiref: str = "max",
        engine: EngineOptions = EngineOptions(),
    ):
        super().__init__(references, systems, target_lang=target_lang)
        from ..engine.encoder import shared_encoder
        from ..models import hub

        if multiref not in ("max", "mean"):
            raise InputError(f"bertr: multiref {multiref!r} is neither max nor mean")
        if max_length is not None and max_length < 1:
            raise InputError(
                f"bertr: a maximum length of {max_length} tokens leaves nothing to compare; give at least 1"
            )
        self.asked, self.target_lang, self.multiref = model is not None, target_lang, multiref
        self.model = hub.resolve(
            paper_model(target_lang) if model == "paper" else hub.EMBEDDED if model is None else model
        )
        if self.model.embedded and target_lang:
            guard_english("bertr", "--bertr-model", self.asked, target_lang, ())
        self.encoder = shared_encoder(self.model.folder, engine)
        layers = layers if layers is not None else EMBEDDED_LAYER if self.model.embedded else "mean"
        self.mixes = layer_mixes(layers, self.encoder.layers)
        self.encoder.require(self.mixes)
        if max_length is not None and max_length > self.encoder.max_content:
            notice(f"bertr: the model reads {self.encoder.max_content} tokens of a text, not {max_length}")
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

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --bertr-* of the sacrebleu command."""
        group.add_argument(
            "--bertr-model",
            default=None,
            metavar="MODEL",
            help="embedded, paper (what the paper used for the target language), a folder, or a hub name[@revision]. "
            "(Default: embedded, English only)",
        )
        group.add_argument(
            "--bertr-layers",
            default=None,
            metavar="LAYERS",
            help="A layer number, several to average (3,4,5), mean, or concat_last4. "
            f"(Default: {EMBEDDED_LAYER} for embedded, mean for any other model)",
        )
        group.add_argument(
            "--bertr-max-length",
            type=int,
            default=None,
            metavar="N",
            help="Tokens kept of each text; longer ones are cut and counted. (Default: what the model can read)",
        )
        group.add_argument(
            "--bertr-multiref",
            choices=["max", "mean"],
            default="max",
            help="Score of several references. (Default: %(default)s)",
        )

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        from ..engine.pairs import map_pairs, one_by_one

        first = corpora[0]
        if self.model.embedded and not self.target_lang:
            texts = [text for stream in (*first.references[:1], first.hypotheses) for text in stream]
            guard_english("bertr", "--bertr-model", self.asked, None, texts)
        places, pairs = [], []
        for i in range(len(first)):
            for references in first.references:
                if references[i] is not None:
                    for system, corpus in enumerate(corpora):
                        places.append((system, i))
                        pairs.append((corpus.hypotheses[i], references[i]))
        found: list[list[list]] = [[[] for _ in corpus.hypotheses] for corpus in corpora]
        for (system, i), result in zip(
            places, map_pairs(self.encoder, pairs, self.mixes, one_by_one(self._recall), self.max_length, "bertr")
        ):
            found[system][i].append(result)
        return [self._system_result(segments) for segments in found]

    def _recall(self, hypothesis, reference) -> float:
        import torch

        vectors = [torch.cat([text.states[mix][1:-1] for mix in self.mixes], dim=1) for text in (hypothesis, reference)]
        return greedy_recall(*vectors)

    def _system_result(self, segments: list[list]) -> SystemResult:
        """Rows and counts of one system from the results of each segment against each of its references."""
        rows = []
        for results in segments:
            value = best_reference([result.value or 0.0 for result in results], self.multiref)
            rows.append([0.0, 0.0] if value is None else [value, 1.0])
        kinds = {
            "truncated": [i for i, results in enumerate(segments) if any(any(r.cut) for r in results)],
            "empty": [i for i, results in enumerate(segments) if results and all(any(r.empty) for r in results)],
            "unreferenced": [i for i, results in enumerate(segments) if not results],
        }
        words = {
            "truncated": [f"{was} cut to {self.max_length} tokens a text" for was in ("segment was", "segments were")],
            "empty": [
                "segment has an empty hypothesis or reference and scores 0",
                "segments have an empty hypothesis or reference and score 0",
            ],
            "unreferenced": ["segment has no reference and is left out", "segments have no reference and are left out"],
        }
        return SystemResult(
            rows,
            {kind: len(found) for kind, found in kinds.items()},
            [f"{counted(len(found), *words[kind])} (segment {place(found)})" for kind, found in kinds.items() if found],
        )


def greedy_recall(hypothesis, reference) -> float:
    """Mean over reference tokens of the largest cosine to a hypothesis token (paper, equations 1 and 2).

    hypothesis    fp32 tensor [tokens, width];  reference    fp32 tensor [tokens, width]; at least one token each
    Returns a float in [-1, 1].

    >>> import torch
    >>> hypothesis, reference = torch.tensor([[1., 0.]]), torch.tensor([[2., 0.], [3., 4.]])
    >>> round(greedy_recall(hypothesis, reference), 4)    # (1 + 3/5) / 2
    0.8
    """
    import torch.nn.functional as F

    cosines = F.normalize(reference, dim=1) @ F.normalize(hypothesis, dim=1).T
    return cosines.max(dim=1).values.mean().item()


def layer_mixes(layers: Layers, depth: int) -> list[tuple[int, ...]]:
    """The layers to average, and concatenate, of an encoder of `depth` transformer layers.

    >>> layer_mixes("4,3", 6), layer_mixes("mean", 3), layer_mixes("concat_last4", 6)
    ([(3, 4)], [(1, 2, 3)], [(3,), (4,), (5,), (6,)])
    """
    if layers == "mean":
        return [tuple(range(1, depth + 1))]
    if layers == "concat_last4":
        if depth < 3:
            raise InputError(f"bertr: concat_last4 needs four hidden layers, and this encoder has {depth + 1}")
        return [(number,) for number in range(depth - 3, depth + 1)]
    try:
        numbers = sorted(
            {
                int(n)
                for n in (
                    layers.split(",") if isinstance(layers, str) else [layers] if isinstance(layers, int) else layers
                )
            }
        )
    except ValueError:
        raise InputError(
            f"bertr: layers {layers!r} is no layer number, no list such as 3,4,5, and neither mean nor concat_last4"
        ) from None
    if not numbers or numbers[0] < 0 or numbers[-1] > depth:
        raise InputError(f"bertr: layers {layers} are not all in 0..{depth}, which this encoder has")
    return [tuple(numbers)]


def paper_model(target_lang: Optional[str]) -> str:
    """The hub name of the encoder that the paper used for a target language."""
    if not target_lang:
        raise InputError("bertr: --bertr-model paper depends on the target language; name the language pair with -l")
    return PAPER_MODELS.get(target_lang.lower().replace("_", "-").split("-")[0], PAPER_MODEL_ELSE)
