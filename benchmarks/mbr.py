"""Minimum Bayes risk decoding beside mbrs and comet-mbr: equal matrices and choices, and time.

    python benchmarks/mbr.py --candidates LIST.jsonl --comet FOLDER [--part equal|speed] [--repetitions 3] [--dtype fp32]

LIST.jsonl has an object with src and candidates a line; FOLDER is a regression checkpoint, such as comet_fixture.py makes.
Needs mbrs 0.1.8 and unbabel-comet 2.2.7 beside ctx-metrics. Weights are loaded before the clock starts, and what ours has
kept of texts is dropped before each repetition. Tools take turns in one process; every ratio is the median over the
repetitions.

equal    expected utilities: comet-mbr's and mbrs's COMET, mbrs's COMET with aggregated references, its chrF and BLEU exact
         and aggregated, each beside ours: the largest difference and how many choices differ
speed    the same exact and aggregated, mbrs's chrF in Rust too, and what our cheaper methods take and choose
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from comet.cli import mbr as comet_mbr
from tabulate import tabulate

from ctx_metrics.choice.candidates import Item, read_items
from ctx_metrics.choice.minimum_risk import Method, MinimumRisk
from ctx_metrics.engine.memory import forget_texts
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.registry import metric_table
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts
from ctx_metrics.scoring.context import MetricSettings

Scores = list[np.ndarray]


def ours(name: str, items: list[Item], folder: Path, dtype: str, **method: Any) -> Scores:
    """Expected utilities by ctx-metrics; those of COMET on the model's own scale."""
    settings = {"model": str(folder)} if name == "comet" else {}
    metrics = [MetricSettings(name, metric_table()[name.upper()], settings)]
    run = Run(Texts(target_lang="en"), metrics, {}, EngineOptions(dtype=dtype, quiet=True), text_checks=False)
    forget_texts()
    found = MinimumRisk(run, [1.0], Method(**method))(items, True)
    return [np.array(each) / (100 if name == "comet" else 1) for each in found.scores]


def load_mbrs(folder: Path) -> dict[str, Any]:
    """The metrics of mbrs."""
    from mbrs.metrics import comet, get_metric

    comet.download_model = lambda name: name  # it would ask the hub for a local path
    made = {
        "comet": get_metric("comet")(
            get_metric("comet").Config(model=str(folder / "checkpoints" / "model.ckpt"), cpu=True)
        )
    }
    for name, more in (("chrf", {}), ("chrf-rust", {"fastchrf": True}), ("bleu", {})):
        metric = get_metric(name.partition("-")[0])
        made[name] = metric(metric.Config(**({"num_workers": 2} | more)))
    return made


@torch.no_grad()
def mbrs(metric: Any, items: list[Item], aggregate: bool = False) -> Scores:
    """Expected utilities by mbrs."""
    found = []
    for item in items:
        texts = list(item.candidates)
        score = metric.expected_scores_reference_aggregation if aggregate else metric.expected_scores
        found.append(score(texts, texts, item.source).numpy().astype(np.float64))
    return found


def by_comet_mbr(model: Any, items: list[Item]) -> Scores:
    """Those of comet-mbr, whose candidates are no references of their own; all items have as many candidates."""
    sources, texts = [item.source for item in items], [text for item in items for text in item.candidates]
    of_sources, of_texts = comet_mbr.build_embeddings(sources, texts, model, 32)
    matrix = comet_mbr.mbr_decoding(of_sources, of_texts.reshape(len(items), -1, of_texts.shape[-1]), model)
    return list(matrix.numpy().astype(np.float64))


def compare(peer: Scores, own: Scores) -> tuple[float, int]:
    """The largest difference, and how many choices differ."""
    apart = max(float(np.abs(a - b).max()) for a, b in zip(peer, own, strict=True))
    return apart, sum(int(np.nanargmax(a)) != int(np.nanargmax(b)) for a, b in zip(peer, own, strict=True))


def show_equal(items: list[Item], folder: Path, theirs: dict[str, Any]) -> None:
    """Print the differences."""
    rows = []
    pairs: list[tuple[str, Callable, Callable]] = [
        (
            "comet-mbr",
            partial(by_comet_mbr, theirs["comet"].scorer),
            partial(ours, "comet", folder=folder, dtype="fp32", exclude_self=True),
        )
    ]
    for name in ("comet", "chrf", "bleu"):
        for aggregate in (False, True):
            method = "aggregate" if aggregate else "exact"
            own = partial(ours, name, folder=folder, dtype="fp32", method=method)
            pairs.append((f"mbrs {name}, {method}", partial(mbrs, theirs[name], aggregate=aggregate), own))
    for title, peer, own in pairs:
        apart, differ = compare(peer(items), own(items))
        rows.append([title, f"{apart:.1e}", f"{differ} of {len(items)}"])
    print(tabulate(rows, ["peer", "largest difference", "other choices"], "github"))


def timed(function: Callable[[], Scores]) -> tuple[float, Scores]:
    """Seconds, and what came of them."""
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def show_speed(items: list[Item], folder: Path, theirs: dict[str, Any], repetitions: int, dtype: str) -> None:
    """Print times and ratios."""
    tools: dict[str, dict[str, Callable[[], Scores]]] = {}
    for name, peers in (("comet", ["comet"]), ("chrf", ["chrf", "chrf-rust"]), ("bleu", ["bleu"])):
        own = partial(ours, name, items, folder, dtype)
        tools[name] = {"exact": own}
        for peer in peers:
            tools[name] |= {f"mbrs {peer}": partial(mbrs, theirs[peer], items)}
            tools[name] |= {f"mbrs {peer}, aggregate": partial(mbrs, theirs[peer], items, True)}
        methods = {
            "aggregate": {},
            "aggregate, refine 8": {"refine": 8},
            "prune": {},
            "low-rank": {},
            **({"centroids": {}} if name == "comet" else {}),
        }
        for title, more in methods.items():
            tools[name][title] = partial(own, method=title.partition(",")[0], **more)
    rows = []
    for name, of_name in tools.items():
        runs = [{title: timed(function) for title, function in of_name.items()} for _ in range(repetitions)]
        exact = runs[0]["exact"][1]
        for title in of_name:
            seconds = statistics.median(run[title][0] for run in runs)
            ratio = statistics.median(run[title][0] / run["exact"][0] for run in runs)
            _, differ = compare(exact, runs[0][title][1])
            rows.append([name, title, f"{seconds:.3f}", f"{ratio:.2f}", f"{differ} of {len(items)}"])
    print(tabulate(rows, ["utility", "tool or method", "seconds", "times ours, exact", "other choices"], "github"))


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", required=True)
    parser.add_argument("--comet", type=Path, required=True)
    parser.add_argument("--part", choices=["equal", "speed"])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--dtype", default="fp32")
    args = parser.parse_args()
    items, theirs = read_items([args.candidates]), load_mbrs(args.comet)
    if args.part in (None, "equal"):
        show_equal(items, args.comet, theirs)
    if args.part in (None, "speed"):
        show_speed(items, args.comet, theirs, args.repetitions, args.dtype)


if __name__ == "__main__":
    main()
