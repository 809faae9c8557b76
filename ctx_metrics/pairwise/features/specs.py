"""Specs that name other metrics' scores as features of a pairwise metric, such as chrf:word_order=2."""

import math
import re
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NamedTuple, get_args

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.base import Metric

from ...errors import InputError
from ...scoring.context import capabilities, parameters
from ...scoring.inputs import FileInput

FOUR_METRICS = ("bleu", "nist", "ter", "meteor")
BLEUCOMP = "bleucomp"
# Constructor parameters that this package sets itself, or that the user cannot choose.
NO_OPTIONS = frozenset(
    "self references systems sources doc_ids source_lang target_lang trg_lang engine info_references explain "
    # sentence BLEU always uses the effective order; idf would make a score depend on the number of systems
    "effective_order idf".split()
)
WORDS = {"yes": True, "true": True, "no": False, "false": False}
ORDERS = 4
COMPONENTS = (
    *(f"{what}{order}" for what in ("precision", "matches", "total") for order in range(1, ORDERS + 1)),
    "length",
    "reference_length",
    "length_ratio",
    "brevity_penalty",
)


class Feature(NamedTuple):
    """One metric's scores, or the 16 numbers of bleucomp.

    name       name of a metric, in lower case, or "bleucomp"
    options    (key, value) pairs for the metric's constructor, sorted by key
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def spec(self) -> str:
        """The feature in the syntax of parse_features.

        >>> Feature("chrf").spec, Feature("bleu", (("lowercase", True), ("tokenize", "intl"))).spec
        ('chrf', 'bleu:lowercase=yes,tokenize=intl')
        """
        shown = {key: ("yes" if value else "no") if isinstance(value, bool) else value for key, value in self.options}
        return ":".join([self.name, ",".join(f"{key}={value}" for key, value in shown.items())]).removesuffix(":")

    @property
    def columns(self) -> list[str]:
        """The names of its columns.

        >>> Feature("chrf").columns, Feature("bleucomp").columns[:2], len(Feature("bleucomp").columns)
        (['chrf'], ['bleucomp.precision1', 'bleucomp.precision2'], 16)
        """
        return [f"{self.spec}.{component}" for component in COMPONENTS] if self.name == BLEUCOMP else [self.spec]


def parse_features(specs: Sequence[str]) -> list[Feature]:
    """Parse features, each given as NAME or NAME:KEY=VALUE,...

    NAME is a metric of sacrebleu or an installed one, "bleucomp", "4metrics" (bleu, nist, ter and meteor), or "none" by
    itself. KEY is a parameter of the metric's constructor; the type of its default determines whether VALUE is yes or no,
    a number, or a word. A comma belongs to VALUE unless a KEY= follows it.

    >>> [feature.spec for feature in parse_features(["bleu", "chrf:word_order=2"])]
    ['bleu', 'chrf:word_order=2']
    """
    if len(specs) == 1 and specs[0].lower() == "none":
        return []
    named = [one for spec in specs for one in (FOUR_METRICS if spec.lower() == "4metrics" else (spec,))]
    features = [_parsed(spec) for spec in named]
    meanings: dict[tuple, str] = {}
    for feature in features:
        known = _options(metric_class(feature.name))
        meaning = feature.name, *(each for each in feature.options if each[1] != known[each[0]].default)
        if meaning in meanings:
            raise InputError(
                f"feature {feature.spec} is named twice, first as {meanings[meaning]}", fix="leave one out"
            )
        meanings[meaning] = feature.spec
    return features


def _parsed(spec: str) -> Feature:
    name, _, settings = spec.partition(":")
    name = name.lower()
    if name == "none":
        raise InputError("feature none cannot be combined with other features", fix="leave one out")
    cls = metric_class(name)
    if why := _why_not(name, cls):
        raise InputError(f"feature {name}: this metric cannot score one output by itself, {why}", fix="leave it out")
    known = _options(cls)
    options: dict[str, Any] = {}
    for setting in re.split(r",(?=\w+=)", settings) if settings else []:
        key, equals, text = setting.partition("=")
        if not equals or key not in known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise InputError(f"feature {spec}: no option {setting!r} that can be given as KEY=VALUE; {has}")
        if key in options:
            raise InputError(f"feature {spec}: {key} is given twice")
        options[key] = _value(spec, key, text, known[key].kind)
    return Feature(name, tuple(sorted(options.items())))


def _why_not(name: str, cls: type[Metric]) -> str | None:
    """Return why a metric cannot score a single output on its own, or None if it can."""
    if name == "pairwise":
        return "it compares with other systems"
    can = capabilities(cls)
    more = ["documents"] if "doc_ids" in can.reads else []
    more += [each.words for each in can.inputs if isinstance(each, FileInput)]
    return f"it reads {more[0]}" if more else None


def metric_class(name: str) -> type[Metric]:
    if name == BLEUCOMP:
        return BLEUComponents
    from sacrebleu.metrics import METRICS

    if name.upper() in METRICS:
        return METRICS[name.upper()]  # type: ignore[return-value]  # sacrebleu annotates only ABCMeta
    installed = {entry.name: entry for entry in metadata.entry_points(group="sacrebleu.metrics")}
    if name in installed:  # missing from sacrebleu's table with CTX_METRICS_NO_AUTOLOAD
        return installed[name].load()
    usable = [each for each in {*map(str.lower, METRICS), *installed, BLEUCOMP} if _is_usable(each)]
    raise InputError(f"feature {name}: no metric has this name; there are {', '.join(sorted([*usable, '4metrics']))}")


def _is_usable(name: str) -> bool:
    try:
        return _why_not(name, metric_class(name)) is None
    except Exception:  # a metric of another package that cannot be loaded
        return False


class _Option(NamedTuple):
    kind: type
    default: Any


def _options(cls: type[Metric]) -> dict[str, _Option]:
    """Return the constructor parameters that a user can set with a single word or number."""
    options: dict[str, _Option] = {}
    for name, parameter in parameters(cls).items():
        kind = type(parameter.default)
        if parameter.default in (None, parameter.empty):
            kinds = get_args(parameter.annotation) or (parameter.annotation,)
            kind = next((each for each in (str, float, int, bool) if each in kinds), kind)
        if kind in (bool, int, float, str) and name not in NO_OPTIONS:
            options[name] = _Option(kind, parameter.default)
    return options


def _value(spec: str, key: str, text: str, kind: type) -> Any:
    wanted = {bool: "yes or no", int: "a whole number", float: "a number", str: "a word"}[kind]
    try:
        value = WORDS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        value = None
    if value in (None, "") or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"feature {spec}: {key} is {wanted}, not {text!r}")
    return value


class BLEUComponents(BLEU):
    """sacrebleu's BLEU, used for the statistics of single sentences."""

    def __init__(
        self,
        lowercase: bool = False,
        tokenize: str | None = None,
        trg_lang: str = "",
        references: Sequence[Sequence[str | None]] | None = None,
    ):
        super().__init__(lowercase=lowercase, tokenize=tokenize, trg_lang=trg_lang, references=references)  # type: ignore[arg-type]  # None is no reference to it

    def components(self, hypotheses: Sequence[str]) -> np.ndarray:
        """Return the COMPONENTS of each hypothesis against the constructor's references: float64 [hypotheses, 16].

        With several references, as in BLEU (Papineni et al. 2002), an n-gram can match as often as it occurs in the
        reference with most occurrences, and the reference length is the one closest to the hypothesis's length (the
        shorter one in a tie).

        >>> bleu = BLEUComponents(references=[["the cat sat on the mat"]])
        >>> values = dict(zip(COMPONENTS, bleu.components(["the cat sat"])[0].round(3).tolist()))
        >>> [values[name] for name in ("precision3", "matches2", "total1", "total4", "length_ratio", "brevity_penalty")]
        [1.0, 2.0, 3.0, 0.0, 0.5, 0.368]
        """
        return from_statistics(np.array(self._extract_corpus_statistics(hypotheses, None), np.float64))


def from_statistics(rows: np.ndarray) -> np.ndarray:
    """Compute the 16 COMPONENTS from BLEU's sentence statistics: float64 [sentences, 16].

    precision = matches / total, in [0, 1], unsmoothed, and 0 if there are no n-grams; length_ratio = length / reference
    length, and 0 if the reference length is 0; brevity_penalty = min(1, exp(1 - reference length / length)), and 0 for an
    empty hypothesis.

    rows    float64 [sentences, 10]: length, reference length, matches of orders 1 to 4, totals of orders 1 to 4

    >>> from_statistics(np.array([[2.0, 3, 1, 0, 0, 0, 2, 1, 0, 0]])).round(3).tolist()
    [[0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0, 3.0, 0.667, 0.607]]
    """
    length, reference_length = rows[:, :1], rows[:, 1:2]
    matches, totals = rows[:, 2 : 2 + ORDERS], rows[:, 2 + ORDERS :]
    ratio = _quotient(length, reference_length)
    penalty = np.exp(np.minimum(0.0, 1 - _quotient(reference_length, length)))
    penalty[(length == 0) & (reference_length > 0)] = 0.0
    return np.concatenate(
        [_quotient(matches, totals), matches, totals, length, reference_length, ratio, penalty], axis=1
    )


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)
