"""The cosine of two sentence embeddings (Reimers and Gurevych 2019)."""

from dataclasses import dataclass

from ..corpus import Corpus
from ..scoring.base import SystemResult, multiref_setting
from ..scoring.context import Capabilities
from ..scoring.results import places_of_pairs, results_of_pairs
from ..scoring.token_matching import EncoderMetric


@dataclass(frozen=True)
class CosineSettings:
    """model    "embedded", "multilingual" (the default for target languages other than English), a folder of
    sentence-transformers or of a plain encoder, whose tokens' mean is then taken, or a hub name[@revision] of
    sentence-transformers"""

    model: str | None = None
    multiref: str = multiref_setting()


class SentenceCosine(EncoderMetric):
    """100 times the mean over segments of the cosine of hypothesis and reference, in [-100, 100]; identical texts score 100.

    Texts are cut to the model's own limit (max_seq_length, special tokens included).
    A segment whose hypothesis or reference has no tokens scores 0 and is counted.
    """

    NAME = "SentenceCosine"
    Settings = CosineSettings
    capabilities = Capabilities(reads=frozenset({"target_lang", "engine"}))

    def _prepare(self) -> None:
        from ..engine.device import number_format
        from ..models.hub import encoder_for
        from .sentence_encoder import resolve_sentence_model, shared_sentence_encoder

        engine = self._context.engine
        model = self.settings.model
        self._take(resolve_sentence_model(encoder_for(self._context.target_lang) if model is None else model))
        self.encoder = shared_sentence_encoder(self.model, engine)
        self.signature = {
            **self.model.signature(),
            "inputs": "mt+ref",
            "pooling": self.encoder.pooling,
            "multiref": self.settings.multiref,
            "dtype": number_format(engine.dtype, engine.device),
            "maxlen": self.encoder.max_tokens,
            "long": "truncate",
        }

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        places = places_of_pairs([corpus.references for corpus in corpora])
        pairs = [(corpora[system].hypotheses[i], corpora[system].references[k][i] or "") for system, i, k in places]
        results, shape = self.encoder.cosines(pairs, self.NAME.lower()), (len(corpora), len(corpora[0]))
        return results_of_pairs(places, results, shape, self.settings.multiref, self.encoder.max_tokens)
