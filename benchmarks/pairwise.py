"""The tables of Guzmán, Joty, Màrquez and Nakov (ACL 2015) on WMT13's French-English rankings, by cross-validation.

    python benchmarks/pairwise.py --rankings FOLDER [--darr FOLDER] [--cache FOLDER] [--tables 1 2 4 5] [--epochs N]

The paper trains on WMT11 and tests on WMT12, whose rankings are not here. So the source sentences of WMT13 fr-en are parted
into five folds: a network learns from four of them, less a tenth of their sentences, on which its epoch is chosen, and
decides the pairs of the fifth. The strict tau is over the pairs of all folds; beside it stand the standard error, from
resampled sentences, and p of being no better than the row that is named. With --darr a table follows in which all of WMT13
is learned from, but for the tenth, and the pairs of WMT19's preferences are decided.

FOLDER of --rankings    fr-en-rankings-*.csv, newstest2013/fr-en/ with the outputs, references/newstest2013-ref.en
FOLDER of --darr        kk-en.tsv.xz and gu-en.tsv.xz
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tabulate import tabulate

from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.judgements.readers.preferences import read_rankings
from ctx_metrics.pairwise.features.specs import parse_features
from ctx_metrics.pairwise.network import Shape, mean_probability
from ctx_metrics.pairwise.sentence_vectors import parse_source
from ctx_metrics.pairwise.training.data import read_pair_sets
from ctx_metrics.pairwise.training.learn import Reader, Readings, fitted, prepared
from ctx_metrics.pairwise.training.recipe import MODERN, PAPER, PairwiseRecipe
from ctx_metrics.pairwise.training.task import Comparisons, PairwiseTask, strict_tau
from ctx_metrics.training.loop import Loop

FOLDS = 5
FEATURES = ("4metrics", "bleucomp", "chrf", "bertr", "esim", "comet")
SYNTAX, WORDS, SENTENCE = "encoder@3:25", "encoder@0:50", "encoder:50"
FOUR = ("bleu", "nist", "ter", "meteor")


class Row(NamedTuple):
    """A line of a table: what the network reads, its hidden units, how it is trained, and the line it is compared with."""

    name: str
    features: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    hidden: int = 4
    recipe: PairwiseRecipe = PAPER
    antisymmetric: bool = False
    against: str = ""


BOTH = (SYNTAX, WORDS)
SHIPPED = ("nist", "meteor", "chrf", "bertr", "esim", "comet")
TRANSFERRED = ("4METRICS (logistic)", "4METRICS+both", "the embedded model's features", "the same and sentence vectors")
TABLES = {
    "1": [
        Row("SYNTAX25*", (), (SYNTAX,)),
        Row("WIKI-GW25*", (), (WORDS,)),
        Row("4METRICS (logistic)", FOUR, (), 0),
        Row("4METRICS+SYNTAX25*", FOUR, (SYNTAX,), against="4METRICS (logistic)"),
        Row("4METRICS+WIKI-GW25*", FOUR, (WORDS,), against="4METRICS (logistic)"),
        Row("4METRICS+both", FOUR, BOTH, against="4METRICS (logistic)"),
        Row("4METRICS+SYNTAX25*+sentence vectors", FOUR, (SYNTAX, SENTENCE), against="4METRICS (logistic)"),
    ],
    "2": [
        Row("BLEUCOMP (logistic)", ("bleucomp",), (), 0, against="bleu"),
        Row("BLEUCOMP+SYNTAX25*", ("bleucomp",), (SYNTAX,), against="BLEUCOMP (logistic)"),
        Row("BLEUCOMP+WIKI-GW25*", ("bleucomp",), (WORDS,), against="BLEUCOMP (logistic)"),
        Row("BLEUCOMP+both", ("bleucomp",), BOTH, against="BLEUCOMP (logistic)"),
        Row("BLEU+both", ("bleu",), BOTH, against="bleu"),
    ],
    "4": [Row("single layer", FOUR, BOTH, 0), Row("three groups of 4 units", FOUR, BOTH, against="single layer")],
    "5": [
        Row("logistic", FOUR, BOTH),
        Row("Kendall", FOUR, BOTH, recipe=replace(PAPER, cost="kendall"), against="logistic"),
        Row("logistic, then Kendall", FOUR, BOTH, recipe=replace(PAPER, cost="logistic+kendall"), against="logistic"),
        Row("Kendall, beta 1", FOUR, BOTH, recipe=replace(PAPER, cost="kendall", beta=1.0), against="logistic"),
        Row(
            "logistic, then Kendall, beta 1",
            FOUR,
            BOTH,
            recipe=replace(PAPER, cost="logistic+kendall", beta=1.0),
            against="logistic",
        ),
    ],
    "more": [
        Row("paper's recipe", FOUR, BOTH),
        Row("modern recipe", FOUR, BOTH, recipe=MODERN, antisymmetric=True, against="paper's recipe"),
        Row("the embedded model's features", SHIPPED, (), 0, MODERN, True, "comet"),
        Row("the same and sentence vectors", SHIPPED, BOTH, 4, MODERN, True, "the embedded model's features"),
    ],
}


def rankings(folder: Path) -> JudgedSet:
    csvs = sorted(map(str, folder.glob("fr-en-rankings-*.csv")))
    return read_rankings(
        csvs, str(folder / "newstest2013" / "fr-en"), [str(folder / "references" / "newstest2013-ref.en")]
    )


def folds_of(judged: JudgedSet, seed: int = 1) -> np.ndarray:
    """The fold of each pair: int64 (P,). Sentences of one reference text are of one fold."""
    number = {text: k for k, text in enumerate(dict.fromkeys(judged.references[0]))}
    fold = np.random.default_rng(seed).permutation(len(number)) % FOLDS
    of_segment = np.array([fold[number[text]] for text in judged.references[0]])
    return of_segment[judged.preferences[:, 0]]


def chosen(readings: Readings, columns: Sequence[int], sources: Sequence[int], pairs: np.ndarray) -> Readings:
    return Readings([readings.vectors[k] for k in sources], readings.features[:, list(columns)], readings.pairs[pairs])


def decisions(network, comparisons: Comparisons) -> np.ndarray:
    """P of the better output's being called the better one, both orders averaged: fp64 (P,)."""
    better, worse, reference, one, other = comparisons.pairs.T
    texts, outputs = torch.from_numpy(comparisons.texts).double(), torch.from_numpy(comparisons.outputs).double()
    network = network.double()
    with torch.inference_mode():
        terms = network.terms(texts)
        return mean_probability(
            *(
                logits.numpy()
                for logits in network.both_orders(
                    terms[better], terms[worse], terms[reference], outputs[one], outputs[other]
                )
            )
        )


def signs(chances: np.ndarray) -> np.ndarray:
    """+1 for a pair that is decided as people did, -1 for one that is not, a tie among them."""
    return np.where(chances > 0.5, 1.0, -1.0)


def trained(job: tuple) -> np.ndarray:
    """One fold of one row: the chances of its test pairs."""
    row, training, development, test = job
    torch.set_num_threads(1)
    sources = zip(training.vectors, map(parse_source, row.vectors), strict=True)
    widths = [(of.shape[1], source.dimensions) for of, source in sources]
    shape = Shape(
        sum(width if kept is None else kept for width, kept in widths),
        training.features.shape[1],
        row.hidden,
        antisymmetric=row.antisymmetric,
    )
    numbers = fitted(shape, widths, training, row.recipe.seed)
    data = [prepared(numbers, each) for each in (training, development)]
    Loop(PairwiseTask(numbers.network, row.recipe, *data), quiet=True).train()
    return decisions(numbers.network, prepared(numbers, test))


class Study:
    """All that is read of the rankings, and what each row decided."""

    def __init__(self, folder: Path, darr: Path | None, cache: Path | None, epochs: int, workers: int):
        self.features = parse_features(FEATURES)
        self.columns = [column for feature in self.features for column in feature.columns]
        self.sources = [SYNTAX, WORDS, SENTENCE]
        reader = Reader(self.features, [parse_source(text) for text in self.sources], cache=cache)
        judged = rankings(folder)
        self.readings = reader.read([judged])
        self.fold, self.segment = folds_of(judged), judged.preferences[:, 0]
        self.darr = {}
        for path in sorted(darr.glob("*.tsv.xz")) if darr else ():
            [of_pair] = read_pair_sets([str(path)]).sets
            self.darr[path.name[:5]] = reader.read([of_pair])
        self.epochs, self.workers = epochs, workers
        self.found: dict[str, np.ndarray] = {}
        self.decided: dict[Row, np.ndarray] = {}
        rng = np.random.default_rng(7)
        segments = np.unique(self.segment)
        self.resampled = rng.multinomial(len(segments), np.full(len(segments), 1 / len(segments)), 2000)
        self.of_segment = [np.searchsorted(segments, self.segment)]

    def run(self, row: Row) -> None:
        """Decide all pairs by what a row says, unless a row before it said the same."""
        what = row._replace(name="", against="")
        if what not in self.decided:
            jobs = []
            for fold in range(FOLDS):
                rest = np.flatnonzero(self.fold != fold)
                jobs.append(self.job(row, rest, self.readings, np.flatnonzero(self.fold == fold)))
            with get_context("spawn").Pool(self.workers) as pool:
                of_folds = pool.map(trained, jobs, 1)
            chances = np.zeros(len(self.fold))
            for fold, of_fold in enumerate(of_folds):
                chances[self.fold == fold] = of_fold
            self.decided[what] = signs(chances)
        self.found[row.name] = self.decided[what]

    def job(self, row: Row, rest: np.ndarray, tested: Readings, pairs: np.ndarray) -> tuple:
        """What `trained` takes: a row to be trained on the pairs `rest` of WMT13, and the `pairs` of what is tested."""
        columns = [k for k, name in enumerate(self.columns) if name.partition(".")[0] in row.features]
        sources = [self.sources.index(each) for each in row.vectors]
        held_out = np.isin(self.segment[rest], dev_segments(self.segment[rest]))
        parts = (self.readings, rest[~held_out]), (self.readings, rest[held_out]), (tested, pairs)
        recipe = replace(row.recipe, epochs=min(self.epochs, row.recipe.epochs))
        return row._replace(recipe=recipe), *(chosen(of, columns, sources, rows) for of, rows in parts)

    def transferred(self, row: Row) -> list[str]:
        """A row's tau on each set of WMT19, trained on WMT13."""
        everything = np.arange(len(self.fold))
        return [
            f"{100 * signs(trained(self.job(row, everything, of, np.arange(len(of.pairs))))).mean():.2f}"
            for of in self.darr.values()
        ]

    def single(self, name: str) -> None:
        """One feature's own decisions."""
        self.found[name] = signs(0.5 + self.margins(name, self.readings))

    def margins(self, name: str, readings: Readings) -> np.ndarray:
        """How much one feature prefers the better outputs; of TER less is better."""
        values = readings.features[:, self.columns.index(name)] * (-1 if name == "ter" else 1)
        return values[readings.pairs[:, 3]] - values[readings.pairs[:, 4]]

    def single_line(self, name: str) -> list:
        """A feature's tau, its standard error, the share of its ties, its tau without them, and its taus on WMT19's sets."""
        margins = self.margins(name, self.readings)
        without = 100 * np.sign(margins).sum() / np.count_nonzero(margins)
        line = [*self.line(name)[:3], f"{100 * (margins == 0).mean():.1f} %", f"{without:.2f}"]
        return line + [f"{100 * strict_tau(self.margins(name, of)):.2f}" for of in self.darr.values()]

    def taus(self, name: str) -> np.ndarray:
        """Tau of 2,000 resamples of sentences: fp64 (2000,)."""
        of_segment = self.of_segment[0]
        sums = np.bincount(of_segment, self.found[name], self.resampled.shape[1])
        return self.resampled @ sums / (self.resampled @ np.bincount(of_segment, minlength=self.resampled.shape[1]))

    def line(self, name: str, against: str = "") -> list:
        taus = self.taus(name)
        compared = ""
        if against:
            difference = taus - self.taus(against)
            gained = 100 * (self.found[name].mean() - self.found[against].mean())
            compared = f"{gained:+.2f} on {against}, p = {max((difference <= 0).mean(), 1 / len(taus)):.4f}"
        return [name, f"{100 * self.found[name].mean():.2f}", f"{100 * taus.std():.2f}", compared]


def dev_segments(segments: np.ndarray, share: float = 0.1, seed: int = 5) -> np.ndarray:
    distinct = np.unique(segments)
    return np.random.default_rng(seed).choice(distinct, round(len(distinct) * share), replace=False)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankings", type=Path, required=True)
    parser.add_argument("--darr", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epochs", type=int, default=100, help="most epochs of each phase; the paper has 10,000")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    study = Study(args.rankings, args.darr, args.cache, args.epochs, args.workers)
    heads = ["", "tau x100", "s.e.", "difference"]
    singles = ("bleu", "nist", "ter", "meteor", "chrf", "bertr", "esim", "comet")
    for name in singles:
        study.single(name)
    pairs = len(study.fold)
    print(f"{pairs:,} pairs of {len(np.unique(study.segment)):,} sentences\n")
    lines = [study.single_line(name) for name in singles]
    of_darr = [f"WMT19 {name}" for name in study.darr]
    shown = ["", "tau x100", "s.e.", "ties", "without ties", *of_darr]
    print(tabulate(lines, shown, "github", disable_numparse=True), "\n", flush=True)
    for table in args.tables:
        lines = []
        for row in TABLES[table]:
            study.run(row)
            lines.append(study.line(row.name, row.against))
            print(lines[-1], file=sys.stderr, flush=True)
        print(f"Table {table}\n\n{tabulate(lines, heads, 'github', disable_numparse=True)}\n", flush=True)
    if study.darr:
        rows = [row for of_table in TABLES.values() for row in of_table if row.name in TRANSFERRED]
        lines = [[row.name, *study.transferred(row)] for row in rows]
        print(f"Trained on WMT13\n\n{tabulate(lines, ['', *of_darr], 'github', disable_numparse=True)}\n", flush=True)


if __name__ == "__main__":
    main()
