"""How well do error spans agree with those of people? F1, precision and recall over characters, as at WMT25."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..cli.common.spans import OFFICIAL
from ..errors import InputError
from ..judgements.measures.spans import CREDIT, f1, precision, recall, span_sums
from ..judgements.readers.rows import stem
from ..judgements.readers.spans import SpanRow, described, read_marked
from ..notices import counted, notice
from ..scoring.comparison import ranks
from .evaluation import TESTS, Significance
from .inference.bootstrap import bootstrap_parts, interval, p_not_better
from .report import Agreement, Report

SIGNIFICANCE = Significance("bootstrap", intervals=True)
MEASURES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "span-f1": ("F1 of error spans over characters, half credit for the wrong severity", f1),
    "span-precision": ("precision of error spans over characters, half credit for the wrong severity", precision),
    "span-recall": ("recall of error spans over characters, half credit for the wrong severity", recall),
}


def span_check(gold: str, predictions: Mapping[str, str], *, significance: Significance = SIGNIFICANCE) -> Report:
    """Measure how well predicted spans agree with those of a table of judgements, for each language pair, and on average.

    predictions    {name: path}

    If the judgements have rows of set_id "official", only these count, as at WMT25. Intervals and ranks of F1 come from a
    bootstrap of segments with the outputs of all systems.
    """
    judged = read_marked(gold, texts=True)
    official = [row for row in judged if row.key.get("set_id") == OFFICIAL]
    if official and len(official) < len(judged):
        left = counted(len(judged) - len(official), "row", "rows")
        notice(f"{gold}: left out {left} of other sets than {OFFICIAL}")
    sets = _by_pair(official or judged, gold)
    found = {name: _matched(path, gold, sets, official or judged) for name, path in predictions.items()}
    for name, of_sets in found.items():
        if absent := [pair for pair in sets if pair not in of_sets]:
            notice(f"{name}: no rows of {', '.join(absent)}, so there is no overall value")
    parts = {
        name: {pair: _parts(sets[pair], rows) for pair, rows in of_sets.items()} for name, of_sets in found.items()
    }
    agreements = [_agreement(each, sets, parts, significance) for each in MEASURES]
    settings = {name: getattr(significance, name) for name in ("alpha", "resamples", "seed")}
    return Report(
        agreements,
        {pair: described(rows) for pair, rows in sets.items()},
        dict.fromkeys(predictions, ""),
        {**settings, "credit for the wrong severity": CREDIT},
    )


def _by_pair(rows: Sequence[SpanRow], path: str) -> dict[str, list[SpanRow]]:
    sets: dict[str, list[SpanRow]] = {}
    for row in rows:
        languages = [row.key.get(f"{side}_lang", "") for side in ("source", "target")]
        sets.setdefault("-".join(languages) if all(languages) else stem(path), []).append(row)
    return sets


def _matched(
    path: str, gold: str, sets: Mapping[str, Sequence[SpanRow]], judged: Sequence[SpanRow]
) -> dict[str, list[SpanRow]]:
    """Return the predictions for the rows of each set, in their order; a set of which none is predicted is left out."""
    rows = read_marked(path)
    names = [name for name in rows[0].key if name in judged[0].key]
    predicted, wanted = _by_key(rows, names), _by_key(judged, names)
    if not predicted.keys() & wanted.keys():
        raise InputError(
            f"{path}: no row belongs to a segment of {gold}; rows are matched by the columns {', '.join(names)}"
        )
    if extra := sum(key not in wanted for key in predicted):
        notice(f"{path}: left out {counted(extra, 'row', 'rows')} without a judgement that counts")
    found: dict[str, list[SpanRow]] = {}
    for pair, of_set in sets.items():
        own = [predicted.get(tuple(row.key[name] for name in names)) for row in of_set]
        there = [row for row in own if row is not None]
        if there and len(there) < len(own):
            place = of_set[own.index(None)].where
            raise InputError(
                f"{path}: {counted(len(own) - len(there), 'row', 'rows')} of {pair} missing; the first is {place}"
            )
        if there:
            found[pair] = there
            _say_odd(path, of_set, there)
    return found


def _by_key(rows: Sequence[SpanRow], names: Sequence[str]) -> dict[tuple[str, ...], SpanRow]:
    found: dict[tuple[str, ...], SpanRow] = {}
    for row in rows:
        key = tuple(row.key[name] for name in names)
        if key in found:
            words = ", ".join(f"{name} {value}" for name, value in zip(names, key, strict=True))
            raise InputError(f"{row.where}: a second row of {words}", fix="leave one out")
        found[key] = row
    return found


def _say_odd(path: str, gold: Sequence[SpanRow], predicted: Sequence[SpanRow]) -> None:
    both = list(zip(gold, predicted, strict=True))
    if other := [row for judged, row in both if row.hypothesis and row.hypothesis != judged.hypothesis]:
        have = counted(len(other), "row has", "rows have")
        notice(f"{path}: {have} another hypothesis than the judgements ({other[0].where})")
    for rows in (gold, predicted):
        beyond = [
            row
            for judged, row in zip(gold, rows, strict=True)
            if any((span.end or 0) > len(judged.hypothesis) for span in row.spans)
        ]
        if beyond:
            one, many = (
                "row has a span that reaches beyond the hypothesis",
                "rows have spans that reach beyond the hypothesis",
            )
            notice(f"{counted(len(beyond), one, many)}; spans are cut at its end ({beyond[0].where})")


def _parts(gold: Sequence[SpanRow], predicted: Sequence[SpanRow]) -> np.ndarray:
    """The three sums of each segment over the outputs of all systems: float64 [segments, 3]."""
    found: dict[tuple[str, ...], np.ndarray] = {}
    for judged, row in zip(gold, predicted, strict=True):
        segment = tuple(value for name, value in judged.key.items() if name != "system_id")
        found[segment] = found.get(segment, 0) + span_sums(len(judged.hypothesis), judged.spans, row.spans)
    return np.array([*found.values()])


def _agreement(
    protocol: str,
    sets: Mapping[str, Sequence[SpanRow]],
    parts: Mapping[str, Mapping[str, np.ndarray]],
    significance: Significance,
) -> Agreement:
    title, measure = MEASURES[protocol]
    values = {
        name: np.array([float(measure(own[pair].sum(axis=0))) if pair in own else np.nan for pair in sets])
        for name, own in parts.items()
    }
    order = sorted(parts, key=lambda name: (np.isnan(values[name].mean()), -values[name].mean(), name))
    agreement = Agreement(
        protocol=protocol,
        title=title,
        level="segment",
        unit="outputs",
        sets=[*sets],
        sizes=[len(rows) for rows in sets.values()],
        metrics=order,
        values=np.array([values[name] for name in order]),
        overall=np.array([values[name].mean() for name in order]),
        overall_is="mean",
        details={name: {pair: _characters(own) for pair, own in parts[name].items()} for name in order},
    )
    if measure is f1:
        _compare(agreement, [parts[name] for name in order], significance)
    return agreement


def _characters(parts: np.ndarray) -> dict[str, float]:
    return dict(zip(("credit", "gold", "predicted"), parts.sum(axis=0).tolist(), strict=True))


def _compare(agreement: Agreement, parts: Sequence[Mapping[str, np.ndarray]], significance: Significance) -> None:
    """Add the intervals and ranks of F1."""
    resamples, seed = significance.resamples, significance.seed
    replicates = [
        bootstrap_parts([own[pair] for pair in agreement.sets], False, resamples=resamples, seed=seed, value=f1)
        if len(own) == len(agreement.sets)
        else np.full(resamples, np.nan)
        for own in parts
    ]
    agreement.intervals = np.array([interval(each) for each in replicates])
    agreement.test = TESTS["bootstrap"]

    def significantly_better(better: int, worse: int) -> bool:
        p = p_not_better(replicates[better], replicates[worse])
        pair = agreement.metrics[better], agreement.metrics[worse]
        agreement.p_values[pair], agreement.draws[pair] = p, resamples
        return p < significance.alpha

    agreement.ranks = ranks(agreement.overall, significantly_better)
