"""Do filtered pseudo-references help, and what does the guard save? Other systems' outputs in place of outside translations.

    python benchmarks/pseudo_references.py --wmt22 TREE --wmt19 FOLDER --darr FOLDER

The online systems of each test set (online-A and online-B, or the one there is) are the pseudo-references, as the paper
took Google's and Bing's translations. They are also among the systems under test, which is what the guard is for.

TREE    WMT22's MQM in the layout of mt-metrics-eval: zh-en, correlation of segments
FOLDER  WMT19's outputs, references and DA-syslevel.csv: correlation of systems, into English
DARR    better and worse outputs of WMT19 (kk-en.tsv.xz, gu-en.tsv.xz): tau of segments
"""

import argparse
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from ctx_metrics.corpus import Segments
from ctx_metrics.judgements.judged import JudgedSet, is_human
from ctx_metrics.judgements.measures.correlation import group_coefficients, pearson
from ctx_metrics.judgements.measures.taus import tau
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.pseudo_references.inputs import PseudoFilter
from ctx_metrics.pseudo_references.metrics import PRSentBLEU

ONLINE = re.compile(r"online-[AB]\b", re.IGNORECASE)
KINDS = {"all": "none", "MAS-filtered": "mas", "BERT-filtered": "bert"}
GUARDS = {"off": None, "on": PseudoFilter().guard}


class Outputs(NamedTuple):
    """A test set's systems and texts; `pseudo` are the numbers of those that serve as pseudo-references."""

    name: str
    systems: list[str]
    hypotheses: list[list[str]]
    reference: list[str]
    pseudo: list[int]


def segments(name: str, lines: Sequence[str]) -> Segments:
    named = Segments(lines)
    named.name = name
    return named


def variants(outputs: Outputs) -> "dict[tuple[str, str], tuple[np.ndarray, str]]":
    """Sentence BLEU (systems, segments), and the share of pseudo-references kept, by references and guard."""
    streams = [segments(outputs.systems[number], outputs.hypotheses[number]) for number in outputs.pseudo]
    found = {}
    for kind, guard in [("gold only", "-"), *itertools.product(KINDS, GUARDS)]:
        pseudo = streams if kind in KINDS else None
        options = PseudoFilter(KINDS.get(kind, "none"), guard=GUARDS.get(guard))
        metric = PRSentBLEU(
            [outputs.reference], outputs.hypotheses, target_lang="en", pseudo_references=pseudo, pseudo_filter=options
        )
        results = metric.system_results()
        scores = np.array([[row[0] / row[1] for row in result.rows] for result in results])
        counts = results[next(i for i in range(len(results)) if i not in outputs.pseudo)].counts
        kept = sum(count for name, count in counts.items() if name.startswith("kept"))
        total = kept + sum(count for name, count in counts.items() if name.startswith("dropped"))
        found[kind, guard] = scores, f"{kept / total:.0%}" if total else ""
    return found


def outputs_of(judged: JudgedSet, pseudo: Sequence[int]) -> Outputs:
    hypotheses = [list(texts) for texts in judged.hypotheses]
    return Outputs(judged.name, list(judged.systems), hypotheses, list(judged.references[0]), list(pseudo))


def online(systems: Sequence[str]) -> list[int]:
    return [number for number, name in enumerate(systems) if ONLINE.match(name)]


def wmt22(tree: Path) -> list[list]:
    """Pearson and Kendall of segments pooled over systems, with all systems and without the pseudo-reference systems."""
    judged = read_judged(str(tree), pairs=["zh-en"], reference="refA")[0]
    judged = judged.without([name for name in judged.systems if is_human(name)])
    pseudo = online(judged.systems)
    others = [number for number in range(len(judged.systems)) if number not in pseudo]
    human, rows = judged.segment_scores, []
    for (kind, guard), (scores, kept) in variants(outputs_of(judged, pseudo)).items():
        cells = [
            measure(human[rows_], scores[rows_]) for rows_ in (slice(None), others) for measure in (pooled, by_item)
        ]
        rows.append([kind, guard, kept, *cells])
    return rows


def pooled(human: np.ndarray, scores: np.ndarray) -> float:
    return pearson(human.ravel(), scores.ravel())


def by_item(human: np.ndarray, scores: np.ndarray) -> float:
    return float(np.nanmean(group_coefficients(human, scores, "kendall", "item")))


def wmt19(folder: Path, darr: Path | None) -> "tuple[list[str], list[str]]":
    """Tables of system Pearson a pair, with all systems and without the pseudo-reference systems, and of the tau of the
    preferences that are in `darr`."""
    of_all: dict[tuple, list] = {}
    of_others: dict[tuple, list] = {}
    of_segments: dict[tuple, list] = {}
    pairs, judged_pairs = [], []
    for judged in read_judged(str(folder)):
        if judged.target_lang != "en" or not (pseudo := online(judged.systems)):
            continue
        pair = f"{judged.source_lang}-{judged.target_lang}"
        pairs.append(pair)
        others = [number for number in range(len(judged.systems)) if number not in pseudo]
        preferences = darr and (darr / f"{pair}.tsv.xz")
        if preferences and preferences.is_file():
            judged_pairs += [pair, "kept"]
        for key, (scores, kept) in variants(outputs_of(judged, pseudo)).items():
            systems = scores.mean(axis=1)
            of_all.setdefault(key, [*key]).append(pearson(judged.system_scores, systems))
            of_others.setdefault(key, [*key]).append(pearson(judged.system_scores[others], systems[others]))
            if preferences and preferences.is_file():
                of_segments.setdefault(key, [*key]).extend([darr_tau(preferences, judged, scores), kept])
        print(pair, "pseudo-references:", ", ".join(judged.systems[i] for i in pseudo), flush=True)
    show = {"tablefmt": "pipe", "floatfmt": ".3f"}
    head = ["references", "guard"]
    without = [
        row for row in of_others.values() if row[1] != "on"
    ]  # the guard concerns the systems that are left out here
    return (
        [tabulate(of_all.values(), [*head, *pairs], **show), tabulate(without, [*head, *pairs], **show)],
        [tabulate(of_segments.values(), [*head, *judged_pairs], **show)],
    )


def darr_tau(path: Path, judged: JudgedSet, scores: np.ndarray) -> float:
    """Tau of preferences, whose segments are found by their source."""
    wanted = read_judged(str(path))[0]
    places = {text: number for number, text in reversed(list(enumerate(judged.sources)))}
    rows = [
        [places[wanted.sources[i]], *(judged.systems.index(wanted.systems[system]) for system in pair)]
        for i, *pair in wanted.preferences.tolist()
        if wanted.sources[i] in places
    ]
    return tau(np.array(rows), scores, "darr")


def main() -> None:
    """Print the tables of the data that were named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wmt22", type=Path)
    parser.add_argument("--wmt19", type=Path)
    parser.add_argument("--darr", type=Path)
    args = parser.parse_args()
    show = {"tablefmt": "pipe", "floatfmt": ".3f"}
    if args.wmt22:
        header = ["references", "guard", "kept", "r", "tau by segment", "r, others", "tau, others"]
        print("WMT22 zh-en\n\n" + tabulate(wmt22(args.wmt22), header, **show) + "\n", flush=True)
    if args.wmt19:
        (with_all, without), preferences = wmt19(args.wmt19, args.darr)
        print(f"\nWMT19 into English, system level\n\n{with_all}\n\nwithout the online systems\n\n{without}\n")
        print("WMT19 DARR, tau\n\n" + "\n".join(preferences))


if __name__ == "__main__":
    main()
