"""COMET models on a CPU against unbabel-comet's `predict`: speed, start to scores, loading, and equal scores.

    python benchmarks/comet_cpu.py --data DIR --cache DIR [--part segments|process|load] [--small] [--repetitions 3]
        [--kinds regression unified-qe ranking xcomet-lite] [--texts segments windows]

DIR of --data holds wmt22_mqm/wmt22_mqm.tar.xz: real texts, WMT22 zh-en, three systems. --cache keeps random checkpoints of
the released models' shape (comet_fixture.py). Needs unbabel-comet 2.2.7 beside ctx-metrics.

segments    60 segments and 15 windows of 6, of 3 systems: `predict` with batches of 16, once a system, against one call of
            ours for all systems; with oneDNN's prepacked linear layers, and with F.linear in their place; of --kinds,
            by default the first two (unbabel-comet gets xCOMET-lite's encoder from tests/comet_oracle.py)
process     the whole process for 10 and for 60 segments of 3 systems, from its start to the scores
load        a checkpoint of the large size: time to load it, and the memory's peak after that and one tiny score

Each tool runs in processes of its own, whose peak memory is theirs. They take turns; every ratio is the median over the
repetitions, with the least and the largest. The ratio of the CPU seconds is given beside it: with --threads 1 it tells
something on a busy machine too (two threads that wait for each other spend CPU seconds). Weights are loaded before the clock
starts (but in `process`), and what ours has kept of texts is dropped before each repetition. Exits with 1 when a target is
missed. --small checks the benchmark itself.
"""

import argparse
import gc
import importlib.util
import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from pathlib import Path

PAIR, SYSTEMS, WINDOW = "zh-en", ("Online-W", "NiuTrans", "M2M100_1.2B-B4"), 6
BATCH = 16
TINY = [[{"src": "模型已加载。", "mt": "The model is loaded now.", "ref": "It is loaded."}]]
TOLERANCE = 1e-5
KINDS, MORE = ("regression", "unified-qe"), ("ranking", "xcomet-lite")
# least ratios of the times, by kind of model, texts, and worker
TARGETS = {
    ("regression", "segments"): {"prepacked": 5.0, "fallback": 2.8},
    ("regression", "windows"): {"prepacked": 4.0, "fallback": 2.3},
    ("unified-qe", "segments"): {"prepacked": 3.5, "fallback": 1.8},
    ("unified-qe", "windows"): {"prepacked": 2.2, "fallback": 1.2},
    **{
        (kind, texts): dict.fromkeys(("prepacked", "fallback"), 1.5)
        for kind in MORE
        for texts in ("segments", "windows")
    },
}
PROCESS_TARGET, LOAD_TARGET, MEMORY_TARGET = 5.0, 2.0, 0.7
COLUMNS = "model, texts|ours|peer s|ours s|ratio (range)|target|CPU ratio|peer MB|ours MB|difference|".split("|")


# ---- the two tools, each a function from systems (lists of samples) to their segments' scores


def load_peer(folder: Path, gpus: int = 0):
    """unbabel-comet's predict over one system after another."""
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning|torchmetrics")
    from comet import load_from_checkpoint

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from comet_oracle import add_deberta

    add_deberta()
    for name in ("pytorch_lightning", "lightning", "lightning.pytorch", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)  # no tips
    model = load_from_checkpoint(str(folder / "checkpoints" / "model.ckpt"), local_files_only=True)

    def score(systems):
        # with workers, which it forks by default where it has a GPU, it hung on the one card where this ran
        return [
            model.predict(samples, batch_size=BATCH, gpus=gpus, progress_bar=False, num_workers=0).scores
            for samples in systems
        ]

    return score


class Ours:
    """Our estimator of a folder, as a function from all systems at once; `options` are those of EngineOptions."""

    def __init__(self, folder: Path, **options):
        from ctx_metrics.engine_options import EngineOptions
        from ctx_metrics.models.load import load_estimator

        self.estimator = load_estimator(str(folder), EngineOptions(quiet=True, **options), spans=False)

    def __call__(self, systems):
        from ctx_metrics.models.estimator import Example

        samples = [sample for system in systems for sample in system]
        examples = [Example(sample["mt"], sample.get("ref"), sample["src"]) for sample in samples]
        values = iter([estimate.value for estimate in self.estimator.estimate(examples, label="comet")])
        return [[next(values) for _ in system] for system in systems]


def text_stores() -> list:
    """Every store of encoded texts that our package holds in this process."""
    from ctx_metrics.engine.store import EmbeddingStore

    return [each for each in gc.get_objects() if type(each) is EmbeddingStore]


def work(name: str, folder: Path, threads: int) -> None:
    """A worker's life: load the model and tell the seconds, then answer each line of systems with their scores."""
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print

    def answer(start, cpu_start, **more):
        seconds, cpu = time.perf_counter() - start, time.process_time()
        more.update(seconds=seconds, cpu=cpu - cpu_start, cpu_since_start=cpu)
        if name != "peer":
            more["encoded"] = sum(store.size for store in text_stores())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"peak": peak, **more}), file=answers, flush=True)

    import torch

    torch.set_num_threads(threads)
    if name == "peer":  # imports are no part of loading a checkpoint
        import comet  # noqa: F401
    else:
        from ctx_metrics.engine import forward
        from ctx_metrics.engine.memory import forget_texts
        from ctx_metrics.models import estimator  # noqa: F401

        if name == "fallback":
            forward.prepacking_fault = lambda: "F.linear, as asked"
    start = time.perf_counter(), time.process_time()
    score = load_peer(folder) if name == "peer" else Ours(folder, device="cpu", dtype="fp32")
    answer(*start, path="" if name == "peer" else forward.prepacking_fault() or "prepacked")
    for line in sys.stdin:
        systems = json.loads(line)
        if name != "peer":
            forget_texts()
        start = time.perf_counter(), time.process_time()
        scores = score(systems)
        answer(*start, scores=scores)


def linear_rates(threads: int) -> None:
    """Print GFLOP/s of a base-size linear layer over 1,024 tokens: what prepacking can gain depends on the CPU."""
    import torch

    from ctx_metrics.engine import forward

    torch.set_num_threads(threads)
    x, weight, bias = torch.randn(1024, 768), torch.randn(3072, 768), torch.randn(3072)
    layers = {"F.linear": forward.Linear(weight, bias)}
    if not forward.prepacking_fault():
        layers["prepacked"] = forward.PrepackedLinear(weight, bias)
    best = dict.fromkeys(layers, float("inf"))
    for _ in range(20):
        for name, layer in layers.items():
            start = time.perf_counter()
            layer(x)
            best[name] = min(best[name], time.perf_counter() - start)
    rates = ", ".join(f"{name} {2 * x.numel() * len(weight) / best[name] / 1e9:.0f}" for name in best)
    print(
        f"{torch.backends.cpu.get_cpu_capability()}, {threads} threads; GFLOP/s of a linear layer: {rates}", flush=True
    )


class Worker:
    """One tool in a process of its own: peer, prepacked (ours) or fallback (ours with F.linear).

    loaded    its answer to the model's loading: seconds, peak memory in MB, and the linear layers' path
    """

    def __init__(self, name: str, folder: Path, threads: int):
        self.name, self.errors = name, tempfile.TemporaryFile("w+")  # noqa: SIM115  # it lives as long as the worker
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "RAYON_NUM_THREADS": str(threads)}
        environment["OMP_NUM_THREADS"] = str(threads)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", name, "--folder", str(folder), "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment,
        )
        self.loaded = self._answer()

    def score(self, systems: list[list[dict]]) -> dict:
        """seconds, cpu (seconds of all threads), scores, and the process's peak memory so far in MB."""
        self.process.stdin.write(json.dumps(systems) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            sys.exit(f"comet_cpu.py: the worker {self.name} broke off:\n{self.errors.read()[-3000:]}")
        return json.loads(line)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


# ---- the texts


def read_texts(data: Path) -> tuple[list[list[dict]], list[str]]:
    """Samples (src, mt, ref) of every system's segments, and each segment's document."""
    archive = data / "wmt22_mqm" / "wmt22_mqm.tar.xz"
    with tarfile.open(archive) as tar:
        members = {"/".join(name.split("/")[-3:]): name for name in tar.getnames()}

        def lines(name):
            return tar.extractfile(members[f"{PAIR}/{name}"]).read().decode("utf-8").removesuffix("\n").split("\n")

        sources, references = lines(f"sources/{PAIR}.txt"), lines(f"references/{PAIR}.refA.txt")
        documents = [line.split("\t")[1] for line in lines(f"documents/{PAIR}.docs")]
        outputs = [lines(f"system-outputs/{system}.txt") for system in SYSTEMS]
    systems = [
        [{"src": source, "mt": output, "ref": reference} for source, output, reference in rows]
        for rows in (zip(sources, of_system, references, strict=True) for of_system in outputs)
    ]
    return systems, documents


def spread_segments(systems: list[list[dict]], count: int) -> list[list[dict]]:
    """`count` segments of every system, spread evenly over the test set."""
    rows = [i * len(systems[0]) // count for i in range(count)]
    return [[system[row] for row in rows] for system in systems]


def spread_windows(systems: list[list[dict]], documents: list[str], count: int) -> list[list[dict]]:
    """`count` windows of WINDOW consecutive segments of one document, joined by spaces, spread over the test set."""
    starts, start = [], 0
    while start + WINDOW <= len(documents):
        whole = documents[start] == documents[start + WINDOW - 1]
        starts += [start] if whole else []
        start += WINDOW if whole else 1
    starts = [starts[i * len(starts) // count] for i in range(count)]
    return [
        [
            {key: " ".join(sample[key] for sample in system[start : start + WINDOW]) for key in system[start]}
            for start in starts
        ]
        for system in systems
    ]


def texts_for(kind: str, systems: list[list[dict]]) -> list[list[dict]]:
    """The samples as a kind of model takes them: unified-qe has no reference."""
    keys = ("src", "mt") if kind == "unified-qe" else ("src", "mt", "ref")
    return [[{key: sample[key] for key in keys} for sample in system] for system in systems]


def build_fixture(cache: Path, kind: str, size: str, systems: list[list[dict]]) -> Path:
    """The folder of a random checkpoint whose tokenizer is trained on the test set."""
    texts = dict.fromkeys(text for system in systems for sample in system for text in sample.values())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("\n".join(texts))
        file.flush()
        # in a process of its own: a child's peak memory starts from its parent's, so this one must stay small
        command = [sys.executable, str(Path(__file__).with_name("comet_fixture.py")), str(cache), "--texts", file.name]
        built = subprocess.run(
            [*command, "--kind", kind, "--size", size], check=True, stdout=subprocess.PIPE, text=True
        )
    return Path(built.stdout.strip())


# ---- what is compared


def difference(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """Largest difference between the two tools' scores of any segment."""
    return max(abs(a - b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True))


def row(label, path, peer, ours, target, memory_target=None) -> list:
    """One line of the table. peer, ours: answers of the repetitions, in step; targets None are not judged."""
    ratios = [theirs["seconds"] / mine["seconds"] for theirs, mine in zip(peer, ours, strict=True)]
    ratio = statistics.median(ratios)
    worst = max(difference(mine["scores"], theirs["scores"]) for theirs, mine in zip(peer, ours, strict=True))
    memory = [max(answer["peak"] for answer in answers) for answers in (peer, ours)]
    faults = [] if worst <= TOLERANCE else ["scores differ"]
    if target is not None and ratio < target:
        faults.append("too slow")
    if memory_target is not None and memory[1] > memory_target * memory[0]:
        faults.append("too much memory")
    median = [statistics.median(answer["seconds"] for answer in answers) for answers in (peer, ours)]
    if not ours[0]["encoded"] or len({mine["encoded"] for mine in ours}) > 1:
        faults.append("not every repetition encoded its texts")
    return [
        label,
        path,
        *(f"{seconds:.2f}" for seconds in median),
        f"{ratio:.2f} ({min(ratios):.2f}-{max(ratios):.2f})",
        "-" if target is None else f"{target:.1f}" + (f", memory {memory_target}" if memory_target else ""),
        f"{statistics.median(theirs['cpu'] / mine['cpu'] for theirs, mine in zip(peer, ours, strict=True)):.2f}",
        *(f"{peak:.0f}" for peak in memory),
        f"{worst:.1e}",
        "FAIL: " + ", ".join(faults) if faults else "pass",
    ]


def compare_segments(args, texts: dict[str, list], fixture) -> list[list]:
    """Scoring alone, models loaded, for each kind of model, segments and windows, and both linear layers."""
    rows = []
    for kind in args.kinds:
        folder = fixture(kind, "base")
        with (
            Worker("peer", folder, args.threads) as peer,
            Worker("prepacked", folder, args.threads) as prepacked,
            Worker("fallback", folder, args.threads) as fallback,
        ):
            workers = (peer, prepacked, fallback)
            for worker in workers:
                worker.score(texts_for(kind, TINY))
            for name in args.texts:
                systems = texts_for(kind, texts[name])
                answers = [[worker.score(systems) for worker in workers] for _ in range(args.repetitions)]
                of_peer, *of_ours = zip(*answers, strict=True)
                for worker, mine in zip(workers[1:], of_ours, strict=True):
                    target = None if args.small else TARGETS[kind, name][worker.name]
                    label = f"{kind}, {len(systems[0])} {name} x {len(systems)}"
                    rows.append(row(label, worker.loaded["path"], of_peer, mine, target))
    return rows


def compare_process(args, texts: dict[str, list], fixture) -> list[list]:
    """Start to scores: imports, loading and scoring in a fresh process each time."""
    folder = fixture("regression", "base")

    def whole(name, systems):
        start = time.perf_counter()
        with Worker(name, folder, args.threads) as worker:
            answer = {**worker.loaded, **worker.score(systems)}
            return {**answer, "seconds": time.perf_counter() - start, "cpu": answer["cpu_since_start"]}

    rows = []
    for count in (10, len(texts["segments"][0])):
        systems = [system[:count] for system in texts["segments"]]
        answers = [(whole("peer", systems), whole("prepacked", systems)) for _ in range(args.repetitions)]
        target = None if args.small else PROCESS_TARGET
        path = answers[0][1]["path"]
        rows.append(row(f"whole process, {count} segments x {len(systems)}", path, *zip(*answers, strict=True), target))
    return rows


def compare_load(args, texts: dict[str, list], fixture) -> list[list]:
    """Loading the large size. Weights may be read as late as the first score, so that one counts, less a second one."""
    folder = fixture("regression", "large")

    def load(name):
        with Worker(name, folder, args.threads) as worker:
            first, second = worker.score(TINY), worker.score(TINY)
            return {
                **worker.loaded,
                **first,
                "seconds": worker.loaded["seconds"] + first["seconds"] - second["seconds"],
            }

    answers = [(load("peer"), load("prepacked")) for _ in range(args.repetitions)]
    targets = (None, None) if args.small else (LOAD_TARGET, MEMORY_TARGET)
    return [row("load, large size", answers[0][1]["path"], *zip(*answers, strict=True), *targets)]


PARTS = {"segments": compare_segments, "process": compare_process, "load": compare_load}


def main() -> None:
    """Run the parts and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--kinds", choices=KINDS + MORE, nargs="+", default=KINDS)
    parser.add_argument("--texts", choices=("segments", "windows"), nargs="+", default=("segments", "windows"))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker == "rates":
        return linear_rates(args.threads)
    if args.worker:
        return work(args.worker, args.folder, args.threads)
    if not args.data or not args.cache:
        parser.error("--data and --cache are needed")
    if importlib.util.find_spec("comet") is None:
        sys.exit("comet_cpu.py: unbabel-comet is not installed here; install it with: pip install unbabel-comet==2.2.7")
    from tabulate import tabulate

    systems, documents = read_texts(args.data)
    segments, windows = (12, 3) if args.small else (60, 15)
    texts = {"segments": spread_segments(systems, segments), "windows": spread_windows(systems, documents, windows)}

    def fixture(kind, size):
        return build_fixture(args.cache, kind, "tiny" if args.small else size, systems)

    subprocess.run([sys.executable, __file__, "--worker", "rates", "--threads", str(args.threads)], check=True)
    rows = [line for part in args.part or PARTS for line in PARTS[part](args, texts, fixture)]
    print(f"{args.repetitions} repetitions; ratio: times of unbabel-comet over ours")
    print(tabulate(rows, COLUMNS, tablefmt="github", disable_numparse=True))
    if any(line[-1] != "pass" for line in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
