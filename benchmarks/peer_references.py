"""bertscore with the other systems as references against bertscore with one reference: seconds and their ratio.

    python benchmarks/peer_references.py --references REF --systems A B C D ... [--segments 2000] [--threads 2]

Both score all systems in one run, in processes of their own, with the model loaded before the clock starts. With n systems,
the second compares n * (n - 1) pairs for each segment and the first n, from the same encoded texts.
"""

import argparse
import json
import os

from peers import Clock, in_its_process, peak


def score(with_peers: bool, args) -> dict:
    import torch

    torch.set_num_threads(args.threads)
    from ctx_metrics import BERTScore, EngineOptions, read_lines
    from ctx_metrics.peers.metric import with_peers as of_peers

    reference, *systems = (read_lines(path)[: args.segments] for path in (args.references, *args.systems))
    cls = of_peers(BERTScore) if with_peers else BERTScore
    metric = cls(
        None if with_peers else [reference],
        systems,
        target_lang=args.language,
        engine=EngineOptions(device="cpu", quiet=True),
    )
    clock = Clock()
    scores = [metric.corpus_score(system, None).score for system in systems]
    return {**clock.times(), "scores": scores, "mb": peak()}


TOOLS = {"one reference": False, "peers": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--language", default="en")
    parser.add_argument("--only", choices=TOOLS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(score(TOOLS[args.only], args)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    found = {tool: in_its_process(tool) for tool in TOOLS}
    for tool, each in found.items():
        print(f"{tool}: {each['seconds']:.1f} s, {each['cpu']:.1f} s of CPU, {each['mb']:.0f} MB at most")
    print(f"{found['peers']['seconds'] / found['one reference']['seconds']:.2f} times the seconds of one reference")


if __name__ == "__main__":
    main()
