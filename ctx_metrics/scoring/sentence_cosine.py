"""The cosine of two sentence embeddings (Reimers and Gurevych 2019)."""

from collections.abc import Sequence
from typing import Any

from ..corpus import Corpus
from ..errors import InputError
from ..language import guard_english
from ..run.context import Capabilities, Stream
from .base import ContextMetric, SystemResult
from .segment_counts import places_of_pairs, results_of_pairs


class SentenceCosine(ContextMetric):
    """100 times the mean over segments of the cosine of hypothesis and reference, in [-100, 100]; identical texts score 100.

    references    streams of references for scoring with references=None
    model         "embedded" (the default), a folder of sentence-transformers or of a plain encoder, whose tokens' mean is
                  then taken, or a hub name[@revision] of sentence-transformers
    multiref      "max" takes the best of several references' cosines, "mean" their average
    flag          what the flags that messages name begin with
    context       systems, target_lang and engine, as run.context.Context describes them

    Texts are cut to the model's own limit (max_seq_length, special tokens included).
    A segment whose hypothesis or reference has no tokens scores 0 and is counted.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.
    """

    NAME = "SentenceCosine"
    capabilities = Capabilities(reads=frozenset({"systems", "target_lang", "engine"}))

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        multiref: str = "max",
        flag: str = "--sentencecosine",
        **context: Any,
    ):
        super().__init__(references, systems=systems, **context)
        from ..models.hub import EMBEDDED
        from ..models.sentence.encoder import shared_sentence_encoder
        from ..models.sentence.folder import resolve_sentence_model

        name = flag.replace("-", "")
        if multiref not in ("max", "mean"):
            raise InputError(f"{name}: multiref {multiref!r} is neither max nor mean")
        target_lang, engine = self._context.target_lang, self._context.engine
        self.asked, self.multiref, self.flag = model is not None, multiref, flag
        self.model = resolve_sentence_model(EMBEDDED if model is None else model)
        self.english_only = self.model.embedded
        if self.model.embedded and target_lang:
            guard_english(name, f"{flag}-model", self.asked, target_lang, ())
        self.encoder = shared_sentence_encoder(self.model, engine)
        self.settings = {
            **self.model.signature(),
            "inputs": "mt+ref",
            "pooling": self.encoder.pooling,
            "multiref": multiref,
            "dtype": engine.dtype,
            "maxlen": self.encoder.max_tokens,
            "long": "truncate",
        }

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        places = places_of_pairs([corpus.references for corpus in corpora])
        pairs = [(corpora[system].hypotheses[i], corpora[system].references[k][i] or "") for system, i, k in places]
        results, shape = self.encoder.cosines(pairs, self.NAME.lower()), (len(corpora), len(corpora[0]))
        return results_of_pairs(places, results, shape, self.multiref, self.encoder.max_tokens)
