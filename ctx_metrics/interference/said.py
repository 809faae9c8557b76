"""Notices about a metric that scores outputs which it, or a related metric, chose."""

import re
from collections.abc import Mapping, Sequence

from sacrebleu.metrics.base import Metric

from ..errors import InputError
from ..notices import notice
from ..scoring.context import signed
from .records import Choice, choices_of
from .related import RELATIONS, Measure, Tuning, relation

PAPER = "Pombal et al. 2025, https://arxiv.org/abs/2503.08327"
Reasons = Sequence[Choice | Tuning]  # why a system interferes


def check_systems(
    tuned: Sequence[Tuning], paths: Sequence[str], metrics: Mapping[str, Metric], systems: Sequence[str]
) -> None:
    """Give notice of systems that a metric of the run, or one related to it, chose, and write them into its signature.

    tuned      the statement on the command line
    paths      the systems' files, which may have records next to them; none for the standard input
    systems    their names
    """
    for each in tuned:
        if each.system and each.system not in (*systems, *paths):
            raise InputError(
                f"tuned with {each.system}={each.measure}: no system is named {each.system}; there are {', '.join(systems)}"
            )
    found: dict[str, Reasons] = {}
    for system, path in zip(systems, paths or [""] * len(systems), strict=True):
        given = [each for each in tuned if each.system in ("", system, path)]
        found[system] = [*given, *choices_of([path] if path else [])]
    scored = {
        name: Measure.of_signature(name, str(metric.get_signature().format())) for name, metric in metrics.items()
    }
    if said := interference(found, scored):
        notice(said)
    for name, measure in scored.items():
        if chosen := [re.sub(r"[:|\s+]", "_", system) for system, why in found.items() if _closest(why, measure)]:
            signed(metrics[name], {"tuned": "+".join(chosen)})


def interference(systems: Mapping[str, Reasons], scored: Mapping[str, Measure]) -> str:
    """Return one line that names the systems which a metric overrates, and the metrics; "" if there are none.

    systems    the metrics that each system was tuned with or chosen by
    scored     the metrics that score all of them, by name
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for system, reasons in systems.items():
        found = {name: pair for name, measure in scored.items() if (pair := _closest(reasons, measure))}
        if found:
            how = " and ".join(dict.fromkeys(str(reason) for reason, _ in found.values()))
            *others, last = [f"{name} ({how_related})" for name, (_, how_related) in found.items()]
            by = " and ".join(filter(None, (", ".join(others), last)))
            alike.setdefault((how, by), []).append(system)
    if not alike:
        return ""
    parts = [
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} {how}, so {by} may overrate "
        f"{'it' if len(names) == 1 else 'them'}"
        for (how, by), names in alike.items()
    ]
    return f"metric interference: {'; '.join(parts)}. Use unrelated metrics, or people ({PAPER})"


def _closest(reasons: Reasons, scored: Measure) -> tuple[Choice | Tuning, str] | None:
    """Return the reason to which a metric is related most closely, and how; None if it is related to none."""
    pairs = [(reason, how) for reason in reasons if (how := relation(reason.measure, scored))]
    return min(pairs, key=lambda pair: RELATIONS.index(pair[1]), default=None)
