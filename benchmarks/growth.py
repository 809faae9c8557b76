"""Time and memory as work grows: 1, 10, 100 systems of 1,000 segments; 1, 10, 100 thousand segments of one system.

    python benchmarks/growth.py --texts FILE --comet FOLDER [--out growth.png] [--tools NAME ...] [--threads 1]

FILE is a table src<TAB>mt<TAB>ref; its lines are taken in turn, numbered when they come round again, so that all outputs are
distinct. FOLDER is a referenceless checkpoint, as benchmarks/comet_fixture.py makes one. Each cell runs in a process of its
own, and its clock starts when the model is loaded. `annotate` writes a table's scores, and has no systems.
"""

import argparse
import json
import sys
import tempfile
from itertools import count, islice
from pathlib import Path

from peers import WARM, Clock, in_its_process, peak
from tabulate import tabulate

SYSTEMS = [(1, 1000), (10, 1000), (100, 1000)]
SEGMENTS = [(1, 1000), (1, 10_000), (1, 100_000)]
LAYER = 4
PEERS = {"bertscore": "bert-score", "comet": "unbabel-comet"}
MOST = {"bertscore": 10_000, "bert-score": 10_000}  # outputs; ten times as many take a quarter and half an hour
TOOLS = ("comet", "unbabel-comet", "annotate", "bertscore", "bert-score")


def distinct_lines(file: Path):
    """Rows (src, mt, ref) without end, no two alike."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    for turn in count():
        for row in rows:
            yield tuple(f"{turn} {text}" for text in row) if turn else tuple(row)


def texts(args) -> tuple[list[str], list[str], list[list[str]]]:
    """Sources and references of the segments, and the outputs of each system."""
    rows = list(islice(distinct_lines(args.texts), args.systems * args.segments))
    first = rows[: args.segments]
    outputs = [[mt for _, mt, _ in rows[at : at + args.segments]] for at in range(0, len(rows), args.segments)]
    return [src for src, _, _ in first], [ref for _, _, ref in first], outputs


def ours(name: str, args, sources, references, systems):
    """A metric of this package, all systems in one pass."""
    from ctx_metrics import COMET, BERTScore

    def metric(systems):
        if name == "comet":
            return COMET(systems=systems, sources=sources[: len(systems[0])], model=str(args.comet))
        return BERTScore([references[: len(systems[0])]], systems, target_lang="en", layers=LAYER)

    metric([WARM[:1]]).system_results()
    return lambda: metric(systems).system_results()


def comet_peer(args, sources, systems):
    """unbabel-comet's predict, a call a system."""
    from comet import load_from_checkpoint

    model = load_from_checkpoint(str(args.comet / "checkpoints" / "model.ckpt"), local_files_only=True)
    samples = [[{"src": src, "mt": mt} for src, mt in zip(sources, own, strict=True)] for own in systems]
    return lambda: [model.predict(own, batch_size=16, gpus=0, progress_bar=False, num_workers=0) for own in samples]


def bertscore_peer(args, references, systems):
    """bert-score, a call a system."""
    from bert_score import BERTScorer

    from ctx_metrics.models import hub

    folder = str(hub.resolve("embedded").folder)
    scorer = BERTScorer(model_type=folder, num_layers=LAYER, device="cpu", nthreads=args.threads)
    scorer.score(WARM[:1], WARM[1:])
    return lambda: [scorer.score(own, references) for own in systems]


def annotate(args, sources, systems):
    """The command on a table in a folder of its own; its start and the loading of the model are in the time."""
    from ctx_metrics.cli import main

    def run():
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table.tsv"
            with open(table, "w", encoding="utf-8") as file:
                file.writelines(f"{src}\t{mt}\n" for src, mt in zip(sources, systems[0], strict=True))
            columns = ["--columns", "src=1", "mt=2", "-m", "comet", "--comet-model", str(args.comet)]
            main(["annotate", str(table), *columns, "-o", f"{folder}/scored", "-q"])

    return run


def cell(args) -> dict[str, float]:
    """Seconds, the CPU's seconds and the peak in MB of one tool on so much work."""
    import torch

    torch.set_num_threads(args.threads)
    sources, references, systems = texts(args)
    if args.only in PEERS:
        run = ours(args.only, args, sources, references, systems)
    elif args.only == "annotate":
        run = annotate(args, sources, systems)
    elif args.only == "unbabel-comet":
        run = comet_peer(args, sources, systems)
    else:
        run = bertscore_peer(args, references, systems)
    clock = Clock()
    run()
    return {**clock.times(), "peak": peak()}


def draw(found: dict, out: str) -> None:
    """Time and memory against the number of outputs, systems and segments in panels of their own."""
    from ctx_metrics.plots.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, new_figure, save, style

    colours = dict(zip(TOOLS, (BLUE, VERMILION, GREEN, GREY, ORANGE), strict=True))
    panels = [("systems of 1,000 segments", SYSTEMS, 0), ("segments of one system", SEGMENTS, 1)]
    with style():
        figure = new_figure(6.5, 4.2)
        axes = figure.subplots(2, 2, sharex="col", sharey="row")
        for column, (label, cells, which) in enumerate(panels):
            for row, (measure, unit) in enumerate((("seconds", "seconds"), ("peak", "peak memory, MB"))):
                plot = axes[row][column]
                for tool in TOOLS:
                    points = [
                        (each[which], found[tool, each][measure])
                        for each in cells
                        if (tool, each) in found and not (tool == "annotate" and which == 0)
                    ]
                    if points:
                        plot.plot(*zip(*points, strict=True), "o-", color=colours[tool], markersize=3, label=tool)
                plot.set_xscale("log")
                if row == 0:
                    plot.set_yscale("log")
                plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
                plot.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
                plot.grid(color="0.9", linewidth=0.5)
                if column == 0:
                    plot.set_ylabel(unit)
                if row == 1:
                    plot.set_xlabel(label)
        axes[1][0].set_ylim(bottom=0)
        axes[0][1].legend(frameon=False, fontsize=7)
        save(figure, out)


def main() -> None:
    """Run every cell and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--comet", type=Path, required=True)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, help="a JSON file of cells, which is read and added to")
    parser.add_argument("--out", help="the figure")
    for hidden in ("--only", "--systems", "--segments"):
        parser.add_argument(hidden, type=str if hidden == "--only" else int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(cell(args)), file=sys.__stdout__)
        return
    kept = json.loads(args.results.read_text()) if args.results and args.results.exists() else []
    found = {(tool, tuple(size)): result for tool, size, result in kept}
    for tool in args.tools:
        for systems, segments in dict.fromkeys(SEGMENTS if tool == "annotate" else SYSTEMS + SEGMENTS):
            if (tool, (systems, segments)) in found or systems * segments > MOST.get(tool, sys.maxsize):
                continue
            size = ["--systems", str(systems), "--segments", str(segments)]
            found[tool, (systems, segments)] = in_its_process(tool, *size)
            print(tool, systems, segments, found[tool, (systems, segments)], file=sys.stderr, flush=True)
            if args.results:
                args.results.write_text(json.dumps([[*key, result] for key, result in found.items()]))
    rows = [
        [tool, systems, f"{segments:,}", each["seconds"], each["seconds"] / systems / segments * 1e3, each["peak"]]
        for (tool, (systems, segments)), each in found.items()
    ]
    headers = ["tool", "systems", "segments", "seconds", "ms an output", "peak MB"]
    print(tabulate(rows, headers, tablefmt="pipe", floatfmt=("", "", "", ".1f", ".2f", ".0f")))
    if args.out:
        draw(found, args.out)


if __name__ == "__main__":
    main()
