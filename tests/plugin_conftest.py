"""Helpers of the plugin's tests: the command in a subprocess, a third-party metric, test sets without a network."""

import atexit
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from sacrebleu.utils import filter_subset

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
COMMAND = str(Path(sys.executable).with_name("sacrebleu"))
REF, SOURCE, DOCIDS = "ref.en.txt", "source.de.txt", "docids.txt"
A, B, C = "system_a.en.txt", "system_b.en.txt", "system_c.en.txt"
NAMES = NAME_A, NAME_B, NAME_C = "system_a.en", "system_b.en", "system_c.en"
picks_from_xml = pytest.mark.skipif(
    "WMTXMLDataset" not in inspect.getsource(filter_subset),
    reason="this sacrebleu picks --origlang and --subset from SGML only",
)
OURS = ("SACREBLEU", "CTX_METRICS_", "HF_", "NO_COLOR", "TOYLEN")


def strict(text: str):
    """JSON as the standard has it, without NaN and Infinity."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def lines_of(name: str) -> list[str]:
    return (EXAMPLES / name).read_text(encoding="utf-8").splitlines()


def environment(**extra: str) -> dict[str, str]:
    """This environment without what would steer the run, and with `extra`."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(OURS) and not key.lower().endswith("_proxy")
    }
    paths = [extra.pop("PYTHONPATH", ""), kept.get("PYTHONPATH", "")]
    return {**kept, "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths)), **extra}


def run(*command: str, stdin: str = "", cwd: Path = EXAMPLES, **env: str) -> subprocess.CompletedProcess:
    """Run a command in the folder of the examples; its output is decoded without changing line ends."""
    done = subprocess.run(
        [str(part) for part in command],
        input=stdin.encode(),
        capture_output=True,
        cwd=cwd,
        env=environment(**env),
        timeout=300,
    )
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def sacrebleu(*args: str, **options) -> subprocess.CompletedProcess:
    return run(COMMAND, *args, **options)


def python(code: str, *args: str, **options) -> subprocess.CompletedProcess:
    return run(sys.executable, "-c", code, *args, **options)


FORKS = """
import contextlib, gc, importlib, json, os, pkgutil, sys, traceback
jobs = os.fdopen(os.dup(0), "rb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
import torch, torch._dynamo  # which networks made on the device "meta" import
torch.set_num_threads(1)  # so that no thread pool is lost in the forks
for name in ("colorama", "importlib.metadata", "lxml.etree", "matplotlib.figure", "multiprocessing.pool", "numpy",
             "portalocker", "regex", "safetensors.torch", "scipy.sparse", "tabulate", "tokenizers", "yaml"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
# huggingface_hub reads the environment when it is imported
assert not any(name.startswith(("sacrebleu", "ctx_metrics", "huggingface_hub")) for name in sys.modules)

def run(job):
    gc.freeze()  # so that a job's collections neither read nor copy what was imported before
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    jobs.close()
    for number, name, flags in ((0, "in", os.O_RDONLY), (1, "out", os.O_RDWR | os.O_CREAT), (2, "err", os.O_RDWR | os.O_CREAT)):
        os.dup2(os.open(job["base"] + "." + name, flags), number)
    code = 0
    try:
        if job["fresh"]:
            import _ctx_metrics_startup
            sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _ctx_metrics_startup._Finder)]
            _ctx_metrics_startup.install()  # or not, by the job's environment
            sys.path[:1] = [os.path.dirname(sys.executable), *filter(None, job["env"]["PYTHONPATH"].split(os.pathsep))]
        exec(job["code"], {"__name__": "__main__", "job": job, "json": json, "os": os, "sys": sys})
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

def serve(answers, whole=None):
    # whole: a pipe to and one from the process that has imported the package too, once there is one
    global jobs
    while line := jobs.readline():
        job = json.loads(line)
        if job["fresh"] or whole is True:
            code = run(job)
        else:
            if whole is None:
                (theirs, ours), (back, forth) = os.pipe(), os.pipe()
                if os.fork() == 0:
                    os.close(ours)
                    jobs = os.fdopen(theirs, "rb")
                    from sacrebleu.sacrebleu import main
                    import ctx_metrics
                    for module in pkgutil.walk_packages(ctx_metrics.__path__, "ctx_metrics."):
                        if not module.name.endswith("__main__"):
                            __import__(module.name)
                    serve(forth, True)
                    os._exit(0)
                os.close(theirs)
                os.close(forth)
                whole = os.fdopen(ours, "wb", 0), os.fdopen(back, "rb")
            whole[0].write(line)
            code = int(whole[1].readline())
        os.write(answers, f"{code}\\n".encode())
    if isinstance(whole, tuple):
        whole[0].close()
        os.wait()

serve(1)
"""


@cache
def server() -> subprocess.Popen:
    """A process that has imported torch and other packages, and forks once for each line with a job.

    It forks what has imported sacrebleu and this package too, which forks for the jobs that are not fresh.
    """
    command = [sys.executable, "-c", FORKS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, env=environment(), cwd=EXAMPLES)
    atexit.register(process.communicate)
    return process


def fork(
    code: str, base: Path, stdin: str = "", cwd: Path = EXAMPLES, env: dict = {}, fresh: bool = False, **job
) -> subprocess.CompletedProcess:
    """Run Python code in a process of its own that is forked when torch and the metrics are imported already.

    base    its standard streams are files of this name with .in, .out and .err
    fresh   neither sacrebleu nor the package is imported yet
    job     what else the code sees in the dictionary of this name

    The process is as new, but for what the imports themselves read: it is not for variables that Python or (unless it
    is fresh) sacrebleu or the package read when they are imported, nor for tests of what is imported.
    """
    assert fresh or not [name for name in env if name.startswith(("PYTHON", "SACREBLEU", "CTX_METRICS_NO"))]
    Path(f"{base}.in").write_bytes(stdin.encode())
    env = environment(**env) if fresh else {**environment(), **env}
    job = {"args": [], **job, "env": env, "base": str(base), "cwd": str(cwd), "code": code, "fresh": fresh}
    server().stdin.write(json.dumps(job).encode() + b"\n")
    server().stdin.flush()
    returncode = int(server().stdout.readline())
    out, err = (Path(f"{base}.{kind}").read_bytes().decode() for kind in ("out", "err"))
    return subprocess.CompletedProcess(job["args"], returncode, out, err)


def fresh_python(
    code: str, *args: str, stdin: str = "", cwd: Path = EXAMPLES, **env: str
) -> subprocess.CompletedProcess:
    """As python() above, in a fork that need not import torch and other packages anew."""
    code = f"sys.argv = ['-c', *job['args']]\n{code}"
    with tempfile.TemporaryDirectory() as folder:
        return fork(code, Path(folder) / "job", stdin, cwd, env, fresh=True, args=[str(word) for word in args])


def fresh_sacrebleu(*args: str, **options) -> subprocess.CompletedProcess:
    """As sacrebleu() above, in such a fork."""
    return fresh_python(SACREBLEU, *args, **options)


def fresh_ctx_metrics(*args: str, **options) -> subprocess.CompletedProcess:
    """The `ctx-metrics` command in such a fork."""
    return fresh_python(CTX_METRICS, *args, **options)


def run_forked(folder: Path, setup: str, body: str, jobs: dict[str, dict]) -> dict[str, subprocess.CompletedProcess]:
    """Run `setup` and `body` once a job, each in a forked process of its own.

    jobs    by name: {"args": [...], "stdin": str, "env": {...}}; `body` sees it as `job`
    """
    folder.mkdir(parents=True, exist_ok=True)
    return {name: fork(f"{setup}\n{body}", folder / str(i), **job) for i, (name, job) in enumerate(jobs.items())}


class Forked(dict):
    """What a job's code does, run when its result is first asked for; `base` of a result is the job's."""

    def __init__(self, folder: Path, code: str, jobs: dict[str, dict]):
        folder.mkdir(parents=True, exist_ok=True)
        self.code, self.jobs = code, jobs
        self.bases = {name: folder / str(number) for number, name in enumerate(jobs)}

    def __missing__(self, name: str) -> subprocess.CompletedProcess:
        done = self[name] = fork(self.code, self.bases[name], **self.jobs[name])
        done.base = str(self.bases[name])
        return done

    def log(self, name: str) -> list[str]:
        """The lines of the file that a job has written beside its output, .log."""
        log = Path(f"{self[name].base}.log")
        return log.read_text().splitlines() if log.exists() else []


SACREBLEU = "from sacrebleu.sacrebleu import main; sys.argv = ['sacrebleu', *job['args']]; main()"
CTX_METRICS = "from ctx_metrics.cli import main; sys.argv = ['ctx-metrics', *job['args']]; sys.exit(main(job['args']))"


@pytest.fixture
def forked(tmp_path_factory):
    """forked(code, ...) is fork(code, ..., args=[...]) with the standard streams in a new folder."""

    def call(code: str, *args: str, **options) -> subprocess.CompletedProcess:
        return fork(code, tmp_path_factory.mktemp("forked") / "job", args=[str(word) for word in args], **options)

    return call


@pytest.fixture
def forked_sacrebleu(forked):
    """As sacrebleu() above, but for what fork() says."""
    return partial(forked, SACREBLEU)


TOYLEN = '''
"""A third-party metric: words of the hypothesis for each word of the source (of the reference, where there is none)."""
import json
import os

from sacrebleu.metrics.base import Metric, Score


class ToyLen(Metric):
    def __init__(self, references=None, sources=None, doc_ids=None, source_lang=None, target_lang=None, systems=(), scale=1.0):
        super().__init__()
        self.sources, self.scale = sources, scale
        self._ref_cache = self._cache_references(references)
        if "TOYLEN_LOG" in os.environ:
            with open(os.environ["TOYLEN_LOG"], "a") as log:
                seen = dict(references=references, sources=sources, doc_ids=doc_ids, source_lang=source_lang,
                            target_lang=target_lang, systems=systems, scale=scale)
                log.write(json.dumps(seen) + "\\n")

    @classmethod
    def add_arguments(cls, group):
        group.add_argument("--toylen-scale", type=float, default=1.0, help="Factor of every score. (Default: %(default)s)")

    def _preprocess_segment(self, sent):
        return sent

    def _extract_reference_info(self, refs):
        return {"words": max(len(ref.split()) for ref in refs)}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        return [float(len(hypothesis.split())), float(ref_kwargs["words"])]

    def _extract_corpus_statistics(self, hypotheses, references):
        rows = super()._extract_corpus_statistics(hypotheses, references)
        if self.sources is None or references is not None:
            return rows
        return [[row[0], float(len(source.split()))] for row, source in zip(rows, self.sources)]

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats([sum(column) for column in zip(*stats)])

    def _compute_score_from_stats(self, stats):
        return Score("ToyLen", 100 * self.scale * float(stats[0]) / float(stats[1]))
'''


def add_package(
    folder: Path, metrics: dict[str, str], modules: dict[str, str], name: str = "toy_metrics", **others: dict[str, str]
) -> dict[str, str]:
    """Put an importable, "installed" package into a folder; returns the environment that makes it seen.

    metrics, others    its entry points: NAME to VALUE; `others` by their groups of ctx_metrics, such as commands
    """
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = {"sacrebleu.metrics": metrics, **{f"ctx_metrics.{group}": own for group, own in others.items()}}
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in own.items())
            for group, own in groups.items()
        )
    )
    for file, code in modules.items():
        (folder / file).write_text(code)
    return {"PYTHONPATH": str(folder)}


def add_toylen(folder: Path) -> dict[str, str]:
    return add_package(folder, {"toylen": "toylen:ToyLen"}, {"toylen.py": TOYLEN})


def add_test_set(
    root: Path,
    name: str,
    langpair: str,
    sources: Sequence[str],
    references: Sequence[str],
    doc_ids: Sequence[str],
    origlangs: Sequence[str],
    domains: Sequence[str] | None = None,
) -> None:
    """Place texts of ours where sacrebleu keeps a test set that it has downloaded, in that set's own format."""
    from sacrebleu.dataset import DATASETS

    dataset = DATASETS[name]
    raw = root / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for url in dataset.data:
        (raw / dataset._get_tarball_filename(url)).write_text("downloaded")
    paths = dataset.langpairs[langpair]
    paths = [paths["path"]] if isinstance(paths, dict) else [path.split(":")[-1] for path in paths]
    for path in paths:
        (raw / path).parent.mkdir(parents=True, exist_ok=True)
    documents: list[list[int]] = []
    for i, doc_id in enumerate(doc_ids):
        if i and doc_id == doc_ids[i - 1]:
            documents[-1].append(i)
        else:
            documents.append([i])

    def segments(texts: Sequence[str], rows: list[int]) -> str:
        return "".join(f'<seg id="{i + 1}">{escape(texts[i])}</seg>\n' for i in rows)

    source_lang, target_lang = langpair.split("-")
    if type(dataset).__name__ == "WMTXMLDataset":
        pair = dataset.langpairs[langpair]
        translator = (pair if isinstance(pair, dict) else dataset.kwargs)["refs"][0]
        (raw / paths[0]).write_text(
            "<dataset>\n"
            + "".join(
                f'<doc id="{doc_ids[rows[0]]}" origlang="{origlangs[rows[0]]}"'
                + (f' domain="{domains[rows[0]]}"' if domains else "")
                + f'>\n<src lang="{source_lang}">{segments(sources, rows)}</src>\n'
                f'<ref lang="{target_lang}" translator="{translator}">{segments(references, rows)}</ref>\n</doc>\n'
                for rows in documents
            )
            + "</dataset>\n",
            encoding="utf-8",
        )
    elif type(dataset).__name__ == "TSVDataset":
        (raw / paths[0]).write_text(
            "".join(f"{i}\t0\t{s}\t{r}\n" for i, (s, r) in enumerate(zip(sources, references))), encoding="utf-8"
        )
    else:
        for path, texts in zip(paths, (sources, references)):
            (raw / path).write_text(
                "".join(
                    f'<doc docid="{doc_ids[rows[0]]}" genre="news" origlang="{origlangs[rows[0]]}">\n{segments(texts, rows)}</doc>\n'
                    for rows in documents
                ),
                encoding="utf-8",
            )
