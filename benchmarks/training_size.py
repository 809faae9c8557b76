"""Agreement with people against the number of training rows, as in figure 1 of Mathur et al. (2019), out of trained folders.

    python benchmarks/training_size.py --clean FOLDER... --noisy FOLDER --out training-size.png

A clean folder is a whole training on so many rows (`ctx-metrics train ... --rows N`): one point. The noisy one read each of
its rows once (`--epochs 1 --schedule linear --check-rows 6720`): a point a check.
"""

import argparse
import json
from pathlib import Path

from ctx_metrics.plots.figure import BLUE, COLUMN, GREY, VERMILION, new_figure, save, style


def main() -> None:
    """Read the folders and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clean", type=Path, nargs="+", required=True)
    parser.add_argument("--noisy", type=Path, required=True)
    parser.add_argument("--baseline", type=float, help="what bertr has on the same development data")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    configs = [json.loads((folder / "config.json").read_text(encoding="utf-8")) for folder in args.clean]
    clean = sorted((config["training"]["rows"], config["development"]["score"]) for config in configs)
    lines = (args.noisy / "checks.jsonl").read_text(encoding="utf-8").splitlines()
    noisy = [(check["rows"], check["score"]) for check in map(json.loads, lines)]
    with style():
        figure = new_figure(COLUMN, 2.6)
        axes = figure.subplots()
        axes.plot(*zip(*clean, strict=True), "o-", color=BLUE, markersize=3, label="clean (WMT16 DA)")
        axes.plot(
            *zip(*noisy, strict=True), "s-", color=VERMILION, markersize=2.5, label="noisy (MQM, MLQE-PE), read once"
        )
        if args.baseline is not None:
            axes.axhline(args.baseline, color=GREY, linestyle="--", linewidth=0.8, label="bertr, no training")
        axes.set_xscale("log")
        axes.set_xlabel("training rows")
        axes.set_ylabel("Pearson's r, WMT15")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(axis="y", color="0.9", linewidth=0.5)
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
        save(figure, args.out)
    for name, points in (("clean", clean), ("noisy", noisy)):
        print(name, ", ".join(f"{rows:,}: {score:.3f}" for rows, score in points))


if __name__ == "__main__":
    main()
