#!/usr/bin/env python3
"""Prints the score of a dev set that Marian has translated: a script for Marian's `--valid-script-path`.

Marian runs `marian_valid.py ARGUMENTS... TRANSLATION`. The arguments are those of `--valid-script-args`, in the form
KEY=VALUE, because Marian reads words that begin with a dash as its own flags:

    metric=comet        any metric of the sacrebleu command, comet if none is given
    reference=FILE      may be given several times
    source=FILE
    docids=FILE         one document id a line
    languages=de-en
    device=cpu          or auto, cuda, cuda:1, mps
    other               a setting of the metric, such as model=FOLDER or window=3

Marian keeps the model with the highest score, so a metric whose lower scores are better (ter) is printed with a minus sign.
If something is wrong, the script prints only the reason, on standard error, and exits with 1.
"""

import json
import sys
from collections.abc import Sequence

from ctx_metrics import CtxMetricsError, InputError, read_lines
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build, capabilities


def score(arguments: Sequence[str]) -> float:
    """The score that Marian's arguments ask for; raises CtxMetricsError for arguments, files or models that are wrong."""
    *pairs, translation = arguments or [""]
    options: dict[str, str] = {}
    references = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in options:
            raise InputError(f"argument {pair!r}: give each argument once, as KEY=VALUE")
        if key == "reference":
            references.append(read_lines(value))
        else:
            options[key] = value
    if not translation:
        raise InputError("no translation: Marian gives it as the last argument")
    name = options.pop("metric", "comet").upper()
    if name not in (table := metric_table()):
        raise InputError(f"metric={name.lower()}: there is no such metric; there are {', '.join(table).lower()}")
    source_lang, target_lang = named_languages(options.pop("languages", ""))
    files = {key: read_lines(options.pop(key)) if key in options else None for key in ("source", "docids")}
    context = Context(
        references=references,
        sources=files["source"],
        doc_ids=files["docids"],
        source_lang=source_lang,
        target_lang=target_lang,
        engine=EngineOptions(device=options.pop("device", "auto")),
    )
    try:
        metric = build(table[name], context, {key: _typed(value) for key, value in options.items()})
    except TypeError as error:  # a setting that the metric does not have
        raise InputError(f"metric={name.lower()}: {error}") from error
    value = metric.corpus_score(read_lines(translation), None).score  # type: ignore[arg-type]  # the metric has them
    return value if capabilities(metric).higher_is_better else -value


def _typed(value: str) -> object:
    """A number or true or false as such, anything else as the text that it is."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def main() -> int:
    try:
        print(f"{score(sys.argv[1:]):.4f}")
    except CtxMetricsError as error:
        print(f"marian_valid.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
