"""Agreement with human judgement of bleu, chrf, bertr, comet and slide with the embedded models.

    python benchmarks/quality.py --data DIR

DIR as for ctx_metrics.training.embedded. Prints segment Pearson on WMT15 and WMT16 DA into English (average over language
pairs) and on WMT22 zh-en MQM, and pairwise system accuracy there (14 MT systems, 91 pairs; Kocmi et al. 2021). What comet's
model was trained on is marked `seen`. Slide's windows have 6 sentences, stride 6, partial windows weighted.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from sacrebleu.metrics import BLEU, CHRF
from scipy.stats import pearsonr
from tabulate import tabulate

from ctx_metrics import BERTR, COMET, SLIDE
from ctx_metrics.training.data import Judgement, read_da, read_mqm_tree
from ctx_metrics.training.embedded import DA15_PAIRS, DA16_PAIRS

NAMES = ("bleu", "chrf", "bertr", "comet", "slide")


def segment_values(name: str, hypotheses: list[str], references: list[str]) -> list[float]:
    """Each segment's score by itself."""
    if name in ("bleu", "chrf"):
        metric = BLEU(effective_order=True) if name == "bleu" else CHRF()
        return [metric.sentence_score(h, [r]).score for h, r in zip(hypotheses, references)]
    metric = {"bertr": BERTR, "comet": COMET}[name](target_lang="en")
    return [row[0] for row in metric._extract_corpus_statistics(hypotheses, [references])]


def da_pearson(judgements: list[Judgement], name: str) -> float:
    """Segment Pearson, averaged over the data sets' language pairs."""
    values = segment_values(name, [j.hypothesis for j in judgements], [j.reference for j in judgements])
    sets = sorted({j.dataset for j in judgements})
    return float(
        np.mean(
            [pearsonr(*zip(*[(v, j.score) for v, j in zip(values, judgements) if j.dataset == s]))[0] for s in sets]
        )
    )


def mqm(judgements: list[Judgement], official: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Of each metric: segment Pearson over all judged segments (not for slide), and pairwise system accuracy."""
    systems = {name: [j for j in judgements if j.system == name] for name in official}
    hypotheses = [[j.hypothesis for j in of_system] for of_system in systems.values()]
    first = next(iter(systems.values()))
    references, documents = [j.reference for j in first], [j.document for j in first]
    human = np.array([j.score for of_system in systems.values() for j in of_system])
    results = {}
    for name in NAMES:
        if name in ("bleu", "chrf"):
            metric = BLEU() if name == "bleu" else CHRF()
            corpus = [metric.corpus_score(h, [references]).score for h in hypotheses]
            values = [v for h in hypotheses for v in segment_values(name, h, references)]
        else:
            context = {"doc_ids": documents} if name == "slide" else {}
            metric = {"bertr": BERTR, "comet": COMET, "slide": SLIDE}[name](
                [references], hypotheses, target_lang="en", **context
            )
            corpus = [metric.corpus_score(h, None).score for h in hypotheses]
            values = [v / w for h in hypotheses for v, w in metric._extract_corpus_statistics(h, None)]
        judged = ~np.isnan(human)
        pearson = pearsonr(np.array(values)[judged], human[judged])[0] if name != "slide" else float("nan")
        scores = dict(zip(systems, corpus))
        accuracy = np.mean(
            [(scores[a] - scores[b]) * (official[a] - official[b]) > 0 for a, b in itertools.combinations(systems, 2)]
        )
        results[name] = (float(pearson), float(accuracy))
    return results


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    archive = data / "wmt15_16_da/wmt15_16_da.tar.xz"
    sets = {"2015": read_da(archive, "2015", DA15_PAIRS), "2016": read_da(archive, "2016", DA16_PAIRS)}
    pearson = {(year, name): da_pearson(rows, name) for year, rows in sets.items() for name in NAMES if name != "slide"}
    agreement = mqm(*read_mqm_tree(data / "wmt22_mqm/wmt22_mqm.tar.xz", "zh-en"))

    def cell(value, seen=False):
        return "-" if value is None or np.isnan(value) else f"{value:.3f}" + (" seen" if seen else "")

    rows = [
        [
            name,
            cell(pearson.get(("2015", name))),
            cell(pearson.get(("2016", name)), name == "comet"),
            cell(agreement[name][0]),
            cell(agreement[name][1]),
        ]
        for name in NAMES
    ]
    print(
        tabulate(
            rows,
            ["metric", "WMT15 segments", "WMT16 segments", "WMT22 zh-en segments", "WMT22 zh-en systems"],
            tablefmt="github",
            disable_numparse=True,
        )
    )


if __name__ == "__main__":
    main()
