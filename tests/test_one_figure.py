"""The sacrebleu command's files, `ctx-metrics score` and Python give one figure, and one name to a system: for every metric."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bleurt_folders import make as make_bleurt
from comet_checkpoints import RECIPES, build
from judge_server import serving
from metricx_folders import make as make_metricx
from plugin_conftest import A, B, lines_of, run_forked
from sacrebleu.metrics import METRICS

from ctx_metrics.corpus import document_ranges
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.scoring import context as run_context
from ctx_metrics.scoring.context import Context
from ctx_metrics.scoring.scores import scores

pytestmark = pytest.mark.full

LINES = slice(6, 18)  # of two documents
NAMES = ["mt.a", "mt.b.v2"]
FILES = {"mt.a.txt": A, "mt.b.v2.txt": B, "ref.txt": "ref.en.txt", "src.txt": "source.de.txt", "ids.txt": "docids.txt"}
SETUP = """
import ctx_metrics.metrics.comet, ctx_metrics.pairwise.metric, ctx_metrics.models.regressor
from sacrebleu.sacrebleu import main as sacrebleu_main
from ctx_metrics.cli import main as ctx_main
"""
BODY = (
    "os.chdir(job['env']['FOLDER']); sys.argv = ['sacrebleu', *job['args']]\n"
    "sacrebleu_main() if job['env']['COMMAND'] == 'sacrebleu' else sys.exit(ctx_main(job['args']))"
)


class Given(NamedTuple):
    """What all three ways of scoring are given, and what the two commands wrote."""

    folder: Path
    checkpoint: str
    metricx: str
    bleurt: str
    judge: dict[str, str]
    rows: list[dict]

    def lines(self, file: str) -> list[str]:
        return (self.folder / file).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> Iterator[Given]:
    """Both commands with all metrics at once, each in one run."""
    with serving() as server:
        yield written(tmp_path_factory, server.url)


def written(tmp_path_factory, url: str) -> Given:
    folder = tmp_path_factory.mktemp("one")
    for file, of_examples in FILES.items():
        (folder / file).write_text("".join(f"{line}\n" for line in lines_of(of_examples)[LINES]), encoding="utf-8")
    for letter, file in (("a", A), ("b", B)):  # a round trip and a pseudo-reference a system
        source = lines_of("source.de.txt")[LINES]
        (folder / f"rt.{letter}.txt").write_text("".join(f"{line.lower()} {letter}\n" for line in source), "utf-8")
    (folder / "pseudo.txt").write_text("".join(f"{line}\n" for line in lines_of("system_c.en.txt")[LINES]), "utf-8")
    checkpoint = str(build(RECIPES["regression"], folder / "checkpoint"))
    metrics = [name.lower() for name in METRICS]
    shared = ["--docids", "ids.txt", "--source", "src.txt", "-l", "en-en", "--roundtrip", "rt.a.txt", "rt.b.txt"]
    shared += ["--pseudo-refs", "pseudo.txt", "--pseudo-filter", "mas", "--doccomet-model", checkpoint]
    metricx, bleurt = str(make_metricx(folder / "metricx-24-tiny")), str(make_bleurt(folder / "bleurt-tiny"))
    shared += ["--metricx-model", metricx, "--bleurt-model", bleurt]
    judge = {"url": url, "model": "toy", "store": str(folder / "answers")}
    shared += [word for key, value in judge.items() for word in (f"--judge-{key}", value)]
    of_both = ["-i", "mt.a.txt", "mt.b.v2.txt", "-m", *metrics, *shared]
    levels = ["--level", "segment", "document", "system", "--format", "json", "-o", "scores.json"]
    jobs = {
        "sacrebleu": ["ref.txt", *of_both, "--ctx-seg-scores", "files"],
        "ctx-metrics": ["score", "-r", "ref.txt", *of_both, *levels],
    }
    forked = {name: {"args": args, "env": {"FOLDER": str(folder), "COMMAND": name}} for name, args in jobs.items()}
    for name, done in run_forked(folder / "forks", SETUP, BODY, forked).items():
        assert done.returncode == 0, (name, done.stderr)
    return Given(
        folder, checkpoint, metricx, bleurt, judge, json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    )


def in_python(name: str, given: Given) -> dict[tuple[str, str], list[float]]:
    """The metric's scores in Python, by level and system."""
    systems, ids = [given.lines("mt.a.txt"), given.lines("mt.b.v2.txt")], given.lines("ids.txt")
    context = Context(
        references=[given.lines("ref.txt")],
        systems=systems,
        sources=given.lines("src.txt"),
        doc_ids=ids,
        source_lang="en",
        target_lang="en",
        inputs={
            "roundtrips": [given.lines("rt.a.txt"), given.lines("rt.b.txt")],
            "pseudo_references": [given.lines("pseudo.txt")],
            "pseudo_filter": "mas",
        },
        engine=EngineOptions(quiet=True),
    )
    models = {"doccomet": given.checkpoint, "metricx": given.metricx, "bleurt": given.bleurt}
    settings = given.judge if name == "judge" else {"model": models[name]} if name in models else {}
    metric = run_context.build(METRICS[name.upper()], context, settings)
    found = {}
    for system, hypotheses in zip(NAMES, systems):
        of_system = scores(metric, hypotheses, ids)
        assert len(of_system.documents) == len(document_ranges(ids)) > 1
        found["segment", system] = of_system.segments
        found["document", system] = of_system.documents
        found["system", system] = [metric.corpus_score(hypotheses, None).score]
    return found


@pytest.mark.parametrize("name", [name.lower() for name in METRICS])
def test_one_figure(name, given):
    expected = in_python(name, given)
    for level, short in (("segment", "seg"), ("document", "doc"), ("system", "sys")):
        [path] = (given.folder / "files").glob(f"{name}-*.{short}.score")
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        of_score = [row for row in given.rows if row["level"] == level and row["metric"] in (name, f"{name}-embedded")]
        assert [row["system"] for row in of_score] == [system for system, _ in lines]
        assert list(dict.fromkeys(system for system, _ in lines)) == NAMES
        for system in NAMES:
            values = pytest.approx(expected[level, system], abs=2e-5, nan_ok=True)
            assert [float(value.replace("None", "nan")) for of, value in lines if of == system] == values
            assert [
                float("nan") if row["score"] is None else row["score"] for row in of_score if row["system"] == system
            ] == values
