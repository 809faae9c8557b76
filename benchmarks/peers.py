"""Tools beside each other, each in a process of its own with its model loaded before the clock starts."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

WARM = ["The model is loaded now.", "It is."]
WEIGHTS = (".safetensors", ".ckpt")


class Clock:
    """Counts from when it is made."""

    def __init__(self):
        self.started = time.perf_counter(), time.process_time()

    def times(self) -> dict[str, float]:
        """Seconds since then, and the CPU's."""
        return {"seconds": time.perf_counter() - self.started[0], "cpu": time.process_time() - self.started[1]}


def peak() -> float:
    """The most memory that this process has taken, in MB."""
    if os.path.exists("/proc/self/status"):  # what getrusage gives on Linux begins with the peak of the parent process
        [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_its_process(tool: str, *more: str) -> dict:
    """What this command prints as JSON with --only TOOL."""
    command = [sys.executable, *sys.argv, "--only", tool, *more]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def read_segments(args) -> tuple[list[str], list[list[str]]]:
    """The first N segments with distinct references and no empty text: references, and each system's hypotheses."""
    from ctx_metrics import read_lines

    references, *systems = [read_lines(path) for path in (args.references, *args.systems)]
    first = {text: i for i, text in reversed(list(enumerate(references))) if text}
    rows = [i for i in sorted(first.values()) if all(system[i] for system in systems)][: args.segments]
    return [references[i] for i in rows], [[system[i] for i in rows] for system in systems]


def compare(doc: str, segments: int, tools: dict[str, Callable]) -> dict[str, dict]:
    """Run tools on text files and print a line for each that has scores, and the ratio of the second's time to the first's;
    gives what they found. In the process of one tool, prints that alone and exits."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=segments)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=tools, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        references, systems = read_segments(args)
        found = tools[args.only](references, systems)
        print(json.dumps({**found, "peak": peak(), "pairs": len(references) * len(systems)}))
        sys.exit()
    results = {tool: in_its_process(tool) for tool in tools}
    for tool, found in results.items():
        if "scores" in found:
            speed = found["pairs"] / found["seconds"]
            scores = " ".join(f"{score:.3f}" for score in found["scores"])
            print(
                f"{tool:22} {found['seconds']:7.1f} s {speed:6.0f} pairs/s  peak {found['peak']:5.0f} MB  scores {scores}"
            )
    ours, peer, *_ = results.values()
    print(f"throughput ratio {peer['seconds'] / ours['seconds']:.2f}")
    return results


def beside_plain_forward(doc: str, streams: Sequence[str], tools: dict[str, Callable], make: Callable) -> None:
    """Ours and a plain forward of transformers with one checkpoint: throughput, and the largest difference of a score.

    streams    those of sources and references that the model reads
    tools      "ours" and "theirs": each a function of the arguments, these streams and the systems
    make       a function of a folder, a size, these streams and the systems that writes a random checkpoint there
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for stream in streams:
        parser.add_argument(f"--{stream}", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", default="base", help="tiny or base")
    parser.add_argument("--model", help="a checkpoint that an earlier run has made")
    parser.add_argument("--only", choices=tools, help=argparse.SUPPRESS)
    args = parser.parse_args()
    from ctx_metrics import read_lines

    given = [read_lines(getattr(args, stream))[: args.segments] for stream in streams]
    systems = [read_lines(path)[: args.segments] for path in args.systems]
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        print(json.dumps(tools[args.only](args, *given, systems)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        if args.model is None:
            args.model = str(make(Path(folder), args.size, *given, systems))
        found = {tool: in_its_process(tool, "--model", args.model) for tool in tools}
        size = sum(path.stat().st_size for path in Path(args.model).rglob("*") if path.suffix in WEIGHTS) / 1e6
    for tool, each in found.items():
        print(f"{tool}: {each['seconds']:.1f} s, {each['cpu']:.1f} s of CPU for {len(each['scores'])} segments")
    ours, theirs = found["ours"], found["theirs"]
    gap = max(abs(a - b) for a, b in zip(ours["scores"], theirs["scores"], strict=True))
    low, high = min(theirs["scores"]), max(theirs["scores"])
    print(f"{theirs['seconds'] / ours['seconds']:.2f} times as fast; scores {low:.2f} to {high:.2f}")
    print(f"largest difference of a score {gap:.1e}")
    if "loading_mb" in ours:
        print(f"loading took {ours['loading_mb'] * 1.048576:.0f} MB at most, for {size:.0f} MB of weights")
