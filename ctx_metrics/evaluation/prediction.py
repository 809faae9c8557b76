"""`predict`: scores of a list of samples, for programs that call a COMET model's `predict`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from ..corpus import list_of_strings
from ..engine_options import EngineOptions
from ..errors import InputError
from ..notices import counted, notice
from .run import evaluate

KEYS = ("src", "mt", "ref")


class Prediction(NamedTuple):
    """The scores of samples, on the model's own scale.

    error_spans    of each sample, if the model marks them
    signature      the model and all that changes its scores
    """

    scores: list[float]
    system_score: float
    error_spans: list[list[dict[str, Any]]] | None = None
    signature: str = ""


def predict(
    samples: Sequence[Mapping[str, str | None]],
    *,
    model: str | PathLike[str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    engine: EngineOptions = EngineOptions(),
) -> Prediction:
    """Score samples with a COMET model, as unbabel-comet's `load_from_checkpoint(...).predict(samples)` does.

    samples    dictionaries with mt, and with src and ref if the model reads them; a ref that is None or absent is missing
    model      embedded, multilingual, a folder, a .ckpt file, or OWNER/NAME[@REVISION] of the hub
    """
    samples = list_of_strings("samples", samples)
    for number, sample in enumerate(samples):
        if not isinstance(sample, Mapping) or "mt" not in sample:
            what = "a dict with mt, and src and ref if the model reads them"
            raise InputError(f"this is not {what}", about="samples", segment=number, unit="sample")
    texts = {key: [sample.get(key) for sample in samples] for key in KEYS}
    given = {key: stream for key, stream in texts.items() if not all(text is None for text in stream)}
    if unread := {key: None for sample in samples for key in sample if key not in KEYS}:
        number = sum(any(key in sample for key in unread) for sample in samples)
        notice(f"samples: {counted(number, 'sample has', 'samples have')} keys that are not read ({', '.join(unread)})")
    result = evaluate(
        texts["mt"],
        given.get("ref"),
        sources=given.get("src"),
        metrics="comet",
        model=model,
        source_lang=source_lang,
        target_lang=target_lang,
        engine=engine,
        text_checks=False,
    )
    [details] = result.details("comet")
    spans = (
        [each.get("error_spans", []) for each in details] if any("error_spans" in each for each in details) else None
    )
    scores = [score / 100 for score in result.segments["comet"]]
    return Prediction(scores, result.system["comet"] / 100, spans, result.signatures["comet"])
