"""`predict`: scores of a list of samples, for programs that call a COMET model's `predict`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

from ..corpus import list_of_strings
from ..engine_options import EngineOptions
from ..errors import CtxMetricsError, InputError
from ..notices import Notice, collected, counted, notice
from .run import evaluate

KEYS = ("src", "mt", "ref")
_STREAMS = {"sources": "src", "hypotheses": "mt", "references": "ref"}  # as `evaluate` names them


class Prediction(NamedTuple):
    """The scores of samples, on the model's own scale.

    error_spans    of each sample, if the model marks them
    signature      the model and everything that changes its scores
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
    if not samples:
        raise InputError("samples: there are none to score")
    texts = {key: [sample.get(key) for sample in samples] for key in KEYS}
    given = {key: stream for key, stream in texts.items() if not all(text is None for text in stream)}
    if unread := {key: None for sample in samples for key in sample if key not in KEYS}:
        number = sum(any(key in sample for key in unread) for sample in samples)
        notice(f"samples: {counted(number, 'sample has', 'samples have')} keys that are not read ({', '.join(unread)})")
    if given.keys() <= {"mt"}:
        raise InputError("samples: none has src or ref", fix="give those that the model reads")
    said: list[Notice] = []
    try:
        with collected() as said:
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
    except CtxMetricsError as error:
        raise _error_of_samples(error) from error
    finally:
        for each in said:
            notice(_notice_of_samples(each))
    [details] = result.details("comet")
    spans = (
        [each.get("error_spans", []) for each in details] if any("error_spans" in each for each in details) else None
    )
    scores = [score / 100 for score in result.segments["comet"]]
    return Prediction(scores, result.system["comet"] / 100, spans, result.signatures["comet"])


def _error_of_samples(error: CtxMetricsError) -> CtxMetricsError:
    """Reword an error of `evaluate` with the names that a user of `predict` knows."""
    if error.segment is None:
        return error
    key = _STREAMS.get(error.about)
    what, about = (f"{key}: {error.what}", "samples") if key else (error.what, error.about)
    return type(error)(what, about=about, segment=error.segment, unit="sample", fix=error.fix)


def _notice_of_samples(given: Notice) -> Notice:
    if given.number is None:
        return given
    what, many = (re.sub("^segment", "sample", words) for words in (given.what, given.many))
    unit = given.unit.replace("segment", "sample")
    key = _STREAMS.get(given.about)
    return replace(given, what=what, many=many, unit=unit, about=f"samples: {key}" if key else given.about)
