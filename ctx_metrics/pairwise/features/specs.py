"""How a user names other metrics' scores as features of a pairwise metric, such as chrf:word_order=2."""

import math
import re
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NamedTuple, get_args

from sacrebleu.metrics.base import Metric

from ...errors import InputError
from ...run.context import capabilities, parameters
from ...run.inputs import FileInput
from .bleu_components import COMPONENTS, BLEUComponents

FOUR_METRICS = ("bleu", "nist", "ter", "meteor")
BLEUCOMP = "bleucomp"
# Constructor parameters that this module fills, or that are no choice of the user's.
NO_OPTIONS = frozenset(
    "self references systems sources doc_ids source_lang target_lang trg_lang engine info_references explain "
    # a sentence's BLEU is of the effective order always; idf would make a score depend on how many systems there are
    "effective_order idf".split()
)
WORDS = {"yes": True, "true": True, "no": False, "false": False}


class Feature(NamedTuple):
    """One metric's scores, or the 16 numbers of bleucomp.

    name       a metric's, in lower case, or "bleucomp"
    options    (key, value) pairs for the metric's constructor, sorted by key
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def spec(self) -> str:
        """What parse_features reads as this feature.

        >>> Feature("chrf").spec, Feature("bleu", (("lowercase", True), ("tokenize", "intl"))).spec
        ('chrf', 'bleu:lowercase=yes,tokenize=intl')
        """
        shown = {key: ("yes" if value else "no") if isinstance(value, bool) else value for key, value in self.options}
        return ":".join([self.name, ",".join(f"{key}={value}" for key, value in shown.items())]).removesuffix(":")

    @property
    def columns(self) -> list[str]:
        """The names of its numbers.

        >>> Feature("chrf").columns, Feature("bleucomp").columns[:2], len(Feature("bleucomp").columns)
        (['chrf'], ['bleucomp.precision1', 'bleucomp.precision2'], 16)
        """
        return [f"{self.spec}.{component}" for component in COMPONENTS] if self.name == BLEUCOMP else [self.spec]


def parse_features(specs: Sequence[str]) -> list[Feature]:
    """The features that a user names, each as NAME or NAME:KEY=VALUE,...

    NAME is a metric of sacrebleu's or an installed one, "bleucomp", "4metrics" (bleu, nist, ter and meteor), or "none" by
    itself. KEY is a parameter of the metric's constructor; its default says what VALUE is: yes or no, a number, a word.
    A comma inside a VALUE is part of it where no KEY= follows.

    Raises InputError for what is none of these, a feature that is named twice, and metrics that read more than an output,
    its references and its source: documents, round trips, pseudo-references, other systems' outputs.

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
            raise InputError(f"feature {feature.spec} is named twice, first as {meanings[meaning]}; leave one out")
        meanings[meaning] = feature.spec
    return features


def _parsed(spec: str) -> Feature:
    name, _, settings = spec.partition(":")
    name = name.lower()
    if name == "none":
        raise InputError("feature none cannot be combined with other features; leave one out")
    cls = metric_class(name)
    if why := _why_not(name, cls):
        raise InputError(f"feature {name}: this metric cannot score one output by itself, {why}; leave it out")
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
    """Why a metric cannot score one output by itself; None if it can."""
    if name == "pairwise":
        return "it compares with other systems"
    can = capabilities(cls)
    more = ["documents"] if "doc_ids" in can.reads else []
    more += [each.words for each in can.inputs if isinstance(each, FileInput)]
    return f"it reads {more[0]}" if more else None


def metric_class(name: str) -> type[Metric]:
    """A metric's class; raises InputError for a name that no metric has."""
    if name == BLEUCOMP:
        return BLEUComponents
    from sacrebleu.metrics import METRICS

    if name.upper() in METRICS:
        return METRICS[name.upper()]  # type: ignore[return-value]  # sacrebleu says no more than ABCMeta
    installed = {entry.name: entry for entry in metadata.entry_points(group="sacrebleu.metrics")}
    if name in installed:  # kept out of sacrebleu's table by CTX_METRICS_NO_AUTOLOAD
        return installed[name].load()
    usable = [each for each in {*map(str.lower, METRICS), *installed, BLEUCOMP} if _is_usable(each)]
    raise InputError(f"feature {name}: no metric has this name; there are {', '.join(sorted([*usable, '4metrics']))}")


def _is_usable(name: str) -> bool:
    try:
        return _why_not(name, metric_class(name)) is None
    except Exception:  # another package's metric, which cannot be loaded
        return False


class _Option(NamedTuple):
    kind: type
    default: Any


def _options(cls: type[Metric]) -> dict[str, _Option]:
    """What a user can choose of a class's constructor: the parameters that one word or number says."""
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
