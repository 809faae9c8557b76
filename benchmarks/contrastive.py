"""Does context help a model to tell a right translation from a wrong one?

Contrastive sets hold a translation that is right after the sentences before it and one that is wrong after them. This
counts how often the model scores the right one above the wrong one, reading the sentence alone and reading it together with
the sentences before it, as `slide` joins them. The sets are not part of the package:

    bawden/            rbawden/discourse-mt-test-sets, en-fr: pronouns, choice of words (Bawden et al. 2018)
    voita/             lena-voita/good-translation-wrong-in-context, en-ru: address, names, ellipsis (Voita et al. 2019)
    pro_mistranslations/  naomiblkr/doc-mt-metrics-eval-public, en-de: the pronoun "it" in WMT21 and WMT22 references

    python benchmarks/contrastive.py DIR [--model NAME] [--most 500]
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.estimator import EMBEDDED_UNIFIED, Example
from ctx_metrics.models.load import load_estimator


class Contrast(NamedTuple):
    """Sentences, oldest first, of which the last is judged; the sentences before it are the same on both sides."""

    source: list[str]
    right: list[str]
    wrong: list[str]


def bawden(folder: Path, name: str) -> Iterator[Contrast]:
    for entry in json.loads((folder / "test-sets" / f"{name}.json").read_text("utf-8")).values():
        for example in entry.get("examples", [entry]):
            targets = example["trg"] if isinstance(example["trg"], list) else [example["trg"]]
            for target in targets:
                right = target.get("correct") or target["semi-correct"]
                yield Contrast(example["src"], right, target["incorrect"])


def voita(folder: Path, name: str) -> Iterator[Contrast]:
    for entry in json.loads((folder / "consistency_testsets" / f"{name}.json").read_text("utf-8")):
        source, *outputs = (text.split(" _eos ") for text in (entry["src"], *entry["dst"]))
        right = outputs.pop(entry["true_ind"])
        for each in outputs:
            if each[:-1] == right[:-1]:  # only these differ in the last sentence alone
                yield Contrast(source, right, each)


def pronouns(folder: Path) -> Iterator[Contrast]:
    for entry in json.loads((folder / "pro_errors.json").read_text("utf-8")):
        before = entry["context"]
        yield Contrast(
            [entry["source context"], entry["source"]],
            [before, entry["correct translation"]],
            [before, entry["wrong translation"]],
        )


def wins(estimator, contrasts: list[Contrast], sentences: slice) -> float:
    """The share of pairs whose right side scores higher; a tie counts half."""
    examples = [
        Example(" ".join(side[sentences]), source=" ".join(each.source[sentences]))
        for each in contrasts
        for side in (each.right, each.wrong)
    ]
    values = np.array([estimate.value for estimate in estimator.estimate(examples, "contrasts")])
    gain = values[::2] - values[1::2]
    return float(np.mean((gain > 1e-6) + 0.5 * (np.abs(gain) <= 1e-6)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--model", default=str(EMBEDDED_UNIFIED))
    parser.add_argument("--most", type=int, default=500, help="Pairs of a set. (Default: 500)")
    parser.add_argument("--ctx-dtype", default="fp32")
    args = parser.parse_args()
    estimator = load_estimator(args.model, EngineOptions(dtype=args.ctx_dtype, quiet=True), inputs="mt+src")
    sets = {
        "en-fr pronouns": bawden(args.dir / "bawden", "anaphora"),
        "en-fr choice of words": bawden(args.dir / "bawden", "lexical-choice"),
        "en-de it": pronouns(args.dir / "pro_mistranslations"),
        "en-ru address": voita(args.dir / "voita", "deixis_test"),
        "en-ru names": voita(args.dir / "voita", "lex_cohesion_test"),
        "en-ru ellipsis of verbs": voita(args.dir / "voita", "ellipsis_vp"),
        "en-ru ellipsis, endings": voita(args.dir / "voita", "ellipsis_infl"),
    }
    rows = []
    for name, contrasts in sets.items():
        taken = list(contrasts)[: args.most]
        rows.append((name, len(taken), wins(estimator, taken, slice(-1, None)), wins(estimator, taken, slice(None))))
    print(tabulate(rows, ["set", "pairs", "sentence alone", "window"], "github", floatfmt=".3f"))
