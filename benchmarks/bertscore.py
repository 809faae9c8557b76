"""BERTScore against bert-score 0.3.13: throughput and scores for three systems, on the same encoder and layer.

    python benchmarks/bertscore.py [--data DIR] [--segments 500] [--threads 2]

DIR holds wmt22_mqm/wmt22_mqm.tar.xz, of which the first N segments from Chinese are scored; without it, the examples' own.
Each tool runs in a process of its own, with its model loaded before the clock starts. bert-score is given one system after
another, and all three in one call, which encodes the references once. The ratios of times, not the times, are the result; on
a machine that has other work, take that of CPU times with --threads 1.
"""

import argparse
import json
import tarfile
from pathlib import Path

from peers import WARM, Clock, in_its_process, peak

LAYER = 4
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SYSTEMS = ("Online-A", "Online-B", "Online-G")


def read_segments(args) -> tuple[list[str], list[list[str]]]:
    """The first N references, and each of three systems' hypotheses."""
    from ctx_metrics import read_lines

    if args.data is None:
        files = [EXAMPLES / name for name in ("ref.en.txt", *(f"system_{each}.en.txt" for each in "abc"))]
        streams = [read_lines(str(file)) for file in files]
    else:
        with tarfile.open(args.data / "wmt22_mqm" / "wmt22_mqm.tar.xz") as tar:
            names = ["references/zh-en.refA.txt", *(f"system-outputs/{system}.txt" for system in SYSTEMS)]
            streams = [
                tar.extractfile(f"wmt22_mqm/zh-en/{name}").read().decode("utf-8").split("\n")[:-1] for name in names
            ]
    references, *systems = [stream[: args.segments] for stream in streams]
    return references, systems


def run_ours(references, systems, args) -> dict:
    """Score F1 with BERTScore as sacrebleu would, all systems in one pass; precision and recall after the clock stopped."""
    from ctx_metrics.metrics.bertscore import BERTScore

    def metric(score):
        return BERTScore([references], systems, target_lang="en", layers=LAYER, score=score, idf=args.idf)

    timed = metric("f1")
    timed.encoder.encode(timed.encoder.tokenizer(WARM), timed.mixes)
    clock = Clock()
    for system in systems:
        timed.corpus_score(system, None)
    times = clock.times()
    every = [metric("p"), metric("r"), timed]
    values = [[row[0] for result in each.system_results() for row in result.rows] for each in every]
    return {**times, "values": values}


def run_peer(references, systems, args, pooled: bool) -> dict:
    """Score with bert_score.BERTScorer, in one call a system, or one for all if `pooled`; idf counted in the clock."""
    import torch
    from bert_score import BERTScorer

    from ctx_metrics.models import hub

    folder = str(hub.resolve("embedded").folder)
    idf = {"idf": True, "idf_sents": references} if args.idf != "none" else {}
    scorer = BERTScorer(model_type=folder, num_layers=LAYER, device="cpu", nthreads=args.threads, **idf)
    scorer.score(WARM[:1], WARM[1:])
    clock = Clock()
    if idf:
        scorer.compute_idf(references)
    if pooled:
        found = [scorer.score([text for system in systems for text in system], references * len(systems))]
    else:
        found = [scorer.score(system, references) for system in systems]
    times = clock.times()
    return {**times, "values": [torch.cat(values).tolist() for values in zip(*found, strict=True)]}


def main() -> None:
    """Run both tools in processes of their own and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None, metavar="DIR")
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--idf", choices=["none", "plus-one"], default="none", help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=["ours", "peer", "pooled"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        references, systems = read_segments(args)
        result = (
            run_ours(references, systems, args)
            if args.only == "ours"
            else run_peer(references, systems, args, args.only == "pooled")
        )
        print(json.dumps({**result, "peak": peak()}))
        return
    names = {"ours": "ctx-metrics", "peer": "bert-score, a call a system", "pooled": "bert-score, one call"}
    for idf in ("none", "plus-one"):
        results = {what: in_its_process(what, "--idf", idf) for what in names}
        ours = results["ours"]
        for what, result in results.items():
            speed = len(result["values"][0]) / result["seconds"]
            worst = max(
                abs(a - b)
                for mine, other in zip(ours["values"], result["values"], strict=True)
                for a, b in zip(mine, other, strict=True)
            )
            ratios = [result[key] / ours[key] for key in ("seconds", "cpu")]
            compared = "  {:.2f} times our time, {:.2f} times our CPU time; P, R, F1 within {:.1e}".format(
                *ratios, worst
            )
            print(
                f"idf {idf:8}  {names[what]:27} {result['seconds']:6.1f} s {speed:5.0f} pairs/s  "
                f"peak {result['peak']:5.0f} MB{compared if what != 'ours' else ''}",
                flush=True,
            )


if __name__ == "__main__":
    main()
