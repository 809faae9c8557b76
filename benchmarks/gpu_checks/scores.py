"""Whether scores on the device are right: beside the CPU's, in half formats, beside unbabel-comet's, on a second card."""

from collections.abc import Callable, Iterator

import torch
from comet_cpu import TOLERANCE, Ours, difference, load_peer
from comet_fixture import KINDS
from comet_gpu import drift, report_device, timed
from findings import NotMeasured
from sacrebleu.metrics import METRICS

import ctx_metrics
from ctx_metrics import read_lines
from ctx_metrics.models.hub import multilingual_folder
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine

from .bench import DTYPES, EXAMPLES, Bench

ALONE = [kind for kind in KINDS if kind != "polycand"]  # which reads the other systems' outputs, too
EQUAL = 1e-4  # most that rounding in fp32 changes a score on the model's scale; TF32 changes more


def values_on(bench: Bench, device: object) -> Iterator[tuple[str, Callable[[], list[float]]]]:
    """What scores on a device: a name, and a function that gives all values."""
    for kind in ALONE:
        folder = bench.checkpoint("deep", kind)
        yield f"comet, {kind}", lambda folder=folder: flat(Ours(folder, device=str(device))(bench.few))
    lines = slice(8 if bench.small else None)
    sources, references = (read_lines(str(EXAMPLES / name))[lines] for name in ("source.de.txt", "ref.en.txt"))
    systems = [read_lines(str(EXAMPLES / f"system_{name}.en.txt"))[lines] for name in "abc"]
    documents = read_lines(str(EXAMPLES / "docids.txt"))[lines]
    engine = bench.options(device)

    def of(metric, **settings) -> list[float]:
        made = metric([references], systems, engine=engine, **settings)
        return [number for result in made.system_results() for row in result.rows for number in row]

    english = {"target_lang": "en"}
    for name in ("bertr", "bertscore", "bilstm", "bilstmatt", "esim"):
        yield name, lambda name=name: of(METRICS[name.upper()], **english)
    yield "comet, embedded", lambda: of(ctx_metrics.COMET, **english)
    yield "slide, embedded", lambda: of(ctx_metrics.SLIDE, doc_ids=documents, **english)
    candidates = str(bench.checkpoint("deep", "polycand"))
    yield "comet, polycand", lambda: of(ctx_metrics.COMET, model=candidates, sources=sources)
    if multilingual_folder() is not None:
        yield "comet, multilingual", lambda: of(ctx_metrics.COMET, model="multilingual", sources=sources)
    yield "sentence cosines", lambda: of(SentenceCosine, **english)
    pairs = [pair for system in systems for pair in zip(system, references, strict=True)]
    yield "paraphrase classifier", lambda: ParaphraseClassifier(engine=engine).probabilities(pairs)


def flat(scores: list[list[float]]) -> list[float]:
    """All systems' values."""
    return [value for system in scores for value in system]


def check_scores(bench: Bench) -> None:
    """Every model on the device and on the CPU."""
    if bench.device.type == "cpu":
        raise NotMeasured("compares a card with the CPU")
    for (name, on_device), (_, on_cpu) in zip(values_on(bench, bench.device), values_on(bench, "cpu"), strict=True):

        def compare(name=name, on_device=on_device, on_cpu=on_cpu) -> None:
            found = on_device()
            ctx_metrics.release()  # or metrics take what the other device read
            worst = difference([found], [on_cpu()])
            ctx_metrics.release()
            bench.findings.add(f"{name}: fp32 and the CPU", f"differ by {worst:.1e}", f"<= {EQUAL}", worst <= EQUAL)

        bench.findings.run(f"{name}: fp32 and the CPU", compare)


def check_formats(bench: Bench) -> None:
    """Half formats against fp32 on the same device."""
    for kind, size in [*((kind, "deep") for kind in ALONE), ("regression", "odd")]:
        folder = bench.checkpoint(size, kind)
        found = {dtype: Ours(folder, device=str(bench.device), dtype=dtype)(bench.few) for dtype in DTYPES}
        for dtype in DTYPES[1:]:
            name = f"comet, {kind}{', heads of 26' * (size == 'odd')}: {dtype} and fp32"
            figure, expected, good = drift(found[dtype], found["fp32"])
            # a label that flips is worth .0088 of XCOMET's score, and random weights decide few of them clearly
            bench.findings.add(name, figure, expected if kind != "xcomet" else "", good if kind != "xcomet" else None)
        ctx_metrics.release()


def check_predict(bench: Bench) -> None:
    """unbabel-comet's scores of every kind, and what comet_gpu.py measures."""
    bench.needs_speed()
    report_device(bench.findings, bench.cache, bench.device, bench.systems, bench.warm_up, repetitions=1)
    try:
        import comet  # noqa: F401
    except Exception as error:  # beside newer libraries its import breaks in many ways
        raise NotMeasured(f"unbabel-comet cannot be imported: {type(error).__name__}") from error
    for kind in ALONE:
        folder = bench.checkpoint("deep", kind)
        ours = Ours(folder, device=str(bench.device))(bench.few)
        theirs = load_peer(folder, gpus=int(bench.device.type == "cuda"))(texts_of(kind, bench.few))
        worst = difference(ours, theirs)
        name = f"comet, {kind}: fp32 and unbabel-comet"
        bench.findings.add(name, f"differ by {worst:.1e}", f"<= {TOLERANCE}", worst <= TOLERANCE)
        ctx_metrics.release()


def texts_of(kind: str, systems: list[list[dict]]) -> list[list[dict]]:
    """The samples as unbabel-comet takes them: without a reference where the model reads none."""
    keys = ("src", "mt") if kind in ("referenceless", "unified-qe") else ("src", "mt", "ref")
    return [[{key: sample[key] for key in keys} for sample in system] for system in systems]


def check_repeated(bench: Bench) -> None:
    """The same run twice."""
    for dtype in DTYPES[:2]:
        score = Ours(bench.checkpoint("deep"), device=str(bench.device), dtype=dtype)
        (first, second) = (timed(score, bench.few, bench.device, 1)[1] for _ in range(2))
        worst = difference(first, second)
        bench.findings.add(f"{dtype}: two runs", f"differ by {worst:.1e}", "0", worst == 0)


def check_devices(bench: Bench) -> None:
    """Two cards."""
    bench.needs_cuda()
    if (count := torch.cuda.device_count()) < 2:
        raise NotMeasured("there is one card")
    folder = bench.checkpoint("deep")
    first, *others = [Ours(folder, device=f"cuda:{number}")(bench.few) for number in range(count)]
    worst = max(difference(first, other) for other in others)
    bench.findings.add(f"{count} cards", f"differ by {worst:.1e}", f"<= {TOLERANCE}", worst <= TOLERANCE)
