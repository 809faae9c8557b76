"""What becomes of scores when outputs lose their lines and are aligned again.

    python benchmarks/alignment_scores.py --data DIR [--pairs en-cs en-ja] [--documents 40] [--systems 30] > table.md

Documents and lost lines are those of benchmarks/alignment.py (`broken`). Each metric scores the outputs as they were, and
as they are aligned with references, with both, or with sources.

difference     of a system's scores, in standard deviations of its segment scores: the mean of all systems, and the largest
significant    pairs of systems that differ in a paired test of the original outputs (p < .05), and how many of them
               come out in the other order
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from alignment import WAYS, aligned, chosen
from alignment_texts import PAIRS, Document, broken
from tabulate import tabulate

from ctx_metrics import evaluate

METRICS = ["chrf", "bertr", "bertscore"]
READS_ENGLISH = ["comet"]  # the embedded model


def texts_by_system(documents: Sequence[Document], lines: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for document, own in zip(documents, lines, strict=True):
        found.setdefault(document.system, []).extend(own)
    return found


def rows(pair: str, documents: Sequence[Document]) -> list[list[str]]:
    language = pair.split("-")[1]
    metrics = {"bleu": {"tokenize": "char"} if documents[0].unspaced else {}} | {name: {} for name in METRICS}
    metrics |= {name: {} for name in READS_ENGLISH if language == "en"}
    [first, *_] = texts_by_system(documents, [each.references for each in documents]).values()
    [sources, *_] = texts_by_system(documents, [each.sources for each in documents]).values()

    def scored(lines: Sequence[Sequence[str]]):
        return evaluate(
            texts_by_system(documents, lines),
            first,
            sources=sources,
            metrics=metrics,
            source_lang=pair.split("-")[0],
            target_lang=language,
            text_checks=False,
        )

    original = scored([each.hypotheses for each in documents])
    systems = list(dict.fromkeys(each.system for each in documents))
    tests = original.compare() if len(systems) > 1 else None
    found = []
    for way in WAYS:
        alignments = aligned(pair, way, documents, [broken(each, "broken") for each in documents])
        again = scored([each.lines for each in alignments])
        for metric in metrics:
            off = [
                abs(again[name].system[metric] - original[name].system[metric])
                / np.std(original[name].segments[metric])
                for name in systems
            ]
            row = [pair, way, metric, f"{np.mean(off):.3f} / {max(off):.3f}"]
            if tests is not None:
                of_metric = [each for each in tests.pairs if each["metric"] == metric]
                differ = [(each["system"], each["other"]) for each in of_metric if each["p"] < 0.05]
                turned = sum(again[a].system[metric] <= again[b].system[metric] for a, b in differ)
                row.append(f"{len(differ)} of {len(of_metric)}, {turned}")
            found.append(row)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=40, help="most documents of a pair")
    parser.add_argument("--systems", type=int, default=30)
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    heads = ["pair", "aligned with", "metric", "difference, mean / largest", "significant, turned"]
    for pair in args.pairs:
        found = rows(pair, chosen(args.data, pair, args.documents, args.systems))
        print(tabulate(found, heads, "github", disable_numparse=True) + "\n", flush=True)


if __name__ == "__main__":
    main()
