"""What a run writes to files: scores in mt-metrics-eval's layout, and slide's table."""

import csv
import json
import math
import os
import signal
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from plugin_conftest import DOCIDS, EXAMPLES, REF, SACREBLEU, A, B, C, Forked, add_test_set, add_toylen, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu
from sacrebleu.metrics import BLEU, TER
from selection import some

from ctx_metrics import SLIDE
from ctx_metrics.corpus import document_ranges
from ctx_metrics.models.estimator import ErrorSpan, Estimate
from ctx_metrics.plugin import files
from ctx_metrics.scoring.results import ScoredWindow, SystemResult
from ctx_metrics.system_names import reference_name
from ctx_metrics.windows import Window

CODE = f"pipe = os.pipe(); os.close(pipe[0]); job['closed'] and os.dup2(pipe[1], 1); {SACREBLEU}"
THREE = [REF, "-i", A, B, C, "-m", "bleu", "comet", "slide", "ter", "--docids", DOCIDS, "--slide-window", "3"]
SINGLE = [REF, "-i", A, "-m", "slide", "bleu", "--docids", DOCIDS]
SMALL = ["--paired-bs-n", "40", "--paired-ar-n", "40"]
DOCUMENTS = ["--ctx-resample", "document"]
RUNS = {
    "three": [*THREE, "--ctx-seg-scores", "{}", "--slide-output", "{}/more/slide.tsv"],
    "three without": THREE,
    "paired": [*THREE, "--paired-bs", *SMALL, "-j", "2", *DOCUMENTS, "--ctx-seg-scores", "{}"],
    "confidence": [*SINGLE, "--confidence", *DOCUMENTS, "--ctx-seg-scores", "{}"],
    "confidence by segment": [*SINGLE, "--confidence"],
    "sentences": [REF, "-i", A, "-m", "slide", "--docids", DOCIDS, "-sl", "-b", "--ctx-seg-scores", "{}"],
    "bleu sentences": [REF, "-i", A, "-m", "bleu", "-sl", "-b", "-w", "9", "--ctx-seg-scores", "{}"],
    "stock": [REF, "-i", A, B, "--ctx-seg-scores", "{}"],
    "stock without": [REF, "-i", A, B],
    "stdin": [REF, "-m", "chrf", "--ctx-seg-scores", "{}"],
    "names": ["{}/de-en.refA.txt", "{}/my-second ref.txt", *"-i {}/1/out.txt {}/2/out.txt --ctx-seg-scores {}".split()],
    "own names": [REF, "-i", A, B, "--ctx-names", "x", "y", "--ctx-seg-scores", "{}"],
    "dropped": [
        *[REF, "-i", A, "-m", "slide", "--docids", DOCIDS, "--slide-partial", "drop", "--slide-window", "5"],
        *["--ctx-seg-scores", "{}", "--slide-output", "{}/slide.tsv"],
    ],
    "one document": [REF, "-i", A, "-m", "slide", "--slide-output", "{}/slide.tsv"],
    "failing": [REF, "-i", A, "-m", "bleu", "comet", "-l", "en-sah", "--ctx-seg-scores", "{}"],
    "no test": [REF, "-i", A, "-b", *DOCUMENTS, "--docids", DOCIDS],
}
CLOSED = {f"{name}, closed": RUNS[name] for name in ("paired", "confidence", "bleu sentences")}


class Runs(Forked):
    def __missing__(self, name: str):
        done = super().__missing__(name)
        done.folder = self.bases[name].parents[1] / name.replace(" ", "_")
        return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Runs:
    folder = tmp_path_factory.mktemp("files")
    jobs = {}
    for name, arguments in {**RUNS, **CLOSED}.items():
        own = folder / name.replace(" ", "_")
        own.mkdir()
        (own / "taken").write_text("here before\n")
        if name == "names":
            for made, text in (("de-en.refA.txt", REF), ("my-second ref.txt", B), ("1/out.txt", A), ("2/out.txt", C)):
                (own / made).parent.mkdir(exist_ok=True)
                (own / made).write_bytes((EXAMPLES / text).read_bytes())
        columns = "".join(f"{a}\t{b}\n" for a, b in zip(lines_of(A), lines_of(B)))
        jobs[name] = {
            "args": [argument.replace("{}", str(own)) for argument in arguments],
            "stdin": columns,
            "closed": name in CLOSED,  # the standard output is a pipe that nobody reads
        }
    return Runs(folder / "runs", CODE, jobs)


def read(path: Path) -> dict[str, list]:
    """A score file as mt-metrics-eval reads it."""
    scores = defaultdict(list)
    for line in path.read_text().splitlines():
        name, score = line.split()
        scores[name].append(None if score == "None" else float(score))
    return dict(scores)


def table(path: Path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_a_run_that_fails_writes_nothing(runs):
    done = runs["failing"]
    assert (done.returncode, done.stdout) == (1, "") and "no embedded model reads" in done.stderr
    assert os.listdir(done.folder) == ["taken"] and (done.folder / "taken").read_text() == "here before\n"


def test_a_bad_target_is_refused_before_a_model_is_loaded(tmp_path):
    (tmp_path / "taken").touch()
    done = sacrebleu(
        *[REF, "-i", A, "-m", "comet", "--comet-model", "./no/such/folder", "--ctx-seg-scores", str(tmp_path / "taken")]
    )
    assert done.returncode == 1 and "taken is a file" in done.stderr and "no/such" not in done.stderr


@pytest.mark.parametrize("name", some(CLOSED, ["bleu sentences, closed"]))
def test_files_are_written_before_anything_is_printed(runs, name):
    """The first line that sacrebleu prints into a closed pipe ends it."""
    done, whole = runs[name], runs[name.removesuffix(", closed")]
    assert (done.returncode, done.stdout) == (-signal.SIGPIPE, "")
    assert "error" not in done.stderr and not list(done.folder.rglob("*.tmp"))
    texts = [{path.name: path.read_bytes() for path in each.folder.rglob("*.*")} for each in (done, whole)]
    assert texts[0] == texts[1] and len(texts[0]) > 1


@pytest.mark.parametrize("mode", some([[], ["-sl"], ["--paired-bs", *SMALL]], [[]]), ids=str)
def test_a_failure_to_write_loses_no_score(tmp_path, mode):
    """A folder that is put where a file is to be, after the check."""
    out, systems = tmp_path / "out", [A, B] if "--paired-bs" in mode else [A]
    (out / "bleu-ref_en.seg.score").mkdir(parents=True)
    arguments = [REF, "-i", *systems, "-q", *mode]
    done, stock = sacrebleu(*arguments, "--ctx-seg-scores", str(out)), sacrebleu(*arguments)
    assert (done.returncode, done.stdout, stock.returncode) == (1, stock.stdout, 0) and done.stdout
    says = f"sacreBLEU: error: cannot write {out}/bleu-ref_en.seg.score: Is a directory; the scores above are complete"
    assert done.stderr.splitlines() == [says]


@pytest.mark.parametrize("name", some(["three", "stock"], ["stock"]))
def test_the_output_is_as_without_files(runs, name):
    assert runs[name].stdout == runs[f"{name} without"].stdout
    assert not list(runs[f"{name} without"].folder.glob("*.score"))


REFERENCES, IDS = lines_of(REF), lines_of(DOCIDS)


@pytest.mark.full
def test_stock_scores_are_sacrebleus(runs):
    folder = runs["three"].folder
    assert {path.name.split("-ref_en.")[0] for path in folder.glob("*-*")} == {
        *("bleu", "comet-embedded", "slide-embedded", "ter")  # the embedded model says nothing more than scores
    }
    for name, sentence, corpus in (("bleu", BLEU(effective_order=True), BLEU()), ("ter", TER(), TER())):
        found = {level: read(folder / f"{name}-ref_en.{level}.score") for level in ("seg", "doc", "sys")}
        assert [*found["seg"]] == ["system_a.en", "system_b.en", "system_c.en"]
        for file in (A, B, C):
            system, stem = lines_of(file), file.removesuffix(".txt")
            alone = [sentence.sentence_score(text, [ref]).score for text, ref in zip(system, REFERENCES)]
            assert found["seg"][stem] == alone
            assert found["sys"][stem] == [corpus.corpus_score(system, [REFERENCES]).score]
            assert found["doc"][stem] == [
                corpus.corpus_score(system[start:end], [REFERENCES[start:end]]).score
                for start, end in document_ranges(IDS)
            ]


@pytest.mark.full
def test_every_mode_writes_the_same(runs):
    for path in runs["three"].folder.glob("*.score"):
        assert (runs["paired"].folder / path.name).read_text() == path.read_text()
    single = runs["confidence"].folder
    for name, other in (("slide-embedded-ref_en", "sentences"), ("bleu-ref_en", "bleu sentences")):
        for path in runs[other].folder.glob("*.score"):
            assert path.name.startswith(name) and (single / path.name).read_text() == path.read_text()
    printed = [float(line) for line in runs["bleu sentences"].stdout.splitlines()]
    assert read(single / "bleu-ref_en.seg.score")["system_a.en"] == pytest.approx(printed, abs=1e-8)
    stock = {path.name for path in runs["stock"].folder.glob("*.score")}
    assert stock == {"bleu-ref_en.seg.score", "bleu-ref_en.sys.score"}  # no documents without ids


def test_names_of_systems_and_references(runs):
    folder = runs["names"].folder
    [path] = folder.glob("*.sys.score")
    assert path.name == "bleu-refA.my_second_ref.sys.score"
    assert list(read(path)) == ["1/out", "2/out"]
    assert list(read(runs["stdin"].folder / "chrf-ref_en.seg.score")) == ["system1", "system2"]
    assert list(read(runs["own names"].folder / "bleu-ref_en.sys.score")) == ["x", "y"]
    assert reference_name(["a/refA.txt.gz"]) == "refA"
    assert reference_name([]) == "ref"  # a test set of -t
    assert reference_name(["zh-en.refA.txt", "refB"]) == "refA.refB"


@pytest.mark.full
def test_what_is_not_scored_is_none(runs):
    scores = read(runs["dropped"].folder / "slide-embedded-ref_en.seg.score")["system_a.en"]
    assert scores.count(None) > 5 and len(scores) == 59
    documents = read(runs["dropped"].folder / "slide-embedded-ref_en.doc.score")["system_a.en"]
    assert [score is None for score in documents] == [number == 4 for number in range(7)]  # it has 4 segments
    rows = table(runs["dropped"].folder / "slide.tsv")
    assert [row["score"] for row in rows if row["level"] == "sentence"] == list(map(files.shown, scores))
    assert [row["score"] for row in rows if row["level"] == "document"] == list(map(files.shown, documents))


@pytest.mark.full
def test_the_table_of_slide(runs):
    rows = table(runs["three"].folder / "more" / "slide.tsv")
    assert list(rows[0]) == "level system document first last weight score truncated".split()
    assert list(dict.fromkeys(row["system"] for row in rows)) == ["system_a.en", "system_b.en", "system_c.en"]
    of = defaultdict(list)
    for row in rows:
        if row["system"] == "system_b.en":
            of[row["level"]].append(row)
    assert [(level, len(of[level])) for level in of] == [
        ("window", 22),
        ("sentence", 59),
        ("document", 7),
        ("system", 1),
    ]
    assert [(row["first"], row["last"]) for row in of["window"]][3:6] == [("10", "12"), ("13", "13"), ("14", "16")]
    assert [row["document"] for row in of["sentence"]] == IDS and of["system"][0]["document"] == ""
    whole = {level: [(float(row["weight"]), float(row["score"])) for row in found] for level, found in of.items()}
    for level in ("window", "sentence", "document"):  # every level adds up to the system's score
        mean = math.fsum(w * s for w, s in whole[level]) / math.fsum(w for w, _ in whole[level])
        assert (59.0, pytest.approx(mean)) == whole["system"][0]
    assert {row["truncated"] for row in rows} == {"0"}
    only = table(runs["one document"].folder / "slide.tsv")
    assert {row["document"] for row in only if row["level"] != "system"} == {"all"}


def result(*windows: ScoredWindow) -> SystemResult:
    return SystemResult([[0.5, 1.0]] * 3, windows=list(windows))


SPAN = ErrorSpan("cät", "major", 0.75, 4, 7)


def test_parts_and_error_spans():
    found = result(
        ScoredWindow(Window(0, 1, 1.0), 0.5, Estimate(0.5, False, False, {"src": 0.25}, [SPAN])),
        ScoredWindow(Window(1, 2, 1.0), None, None),
        ScoredWindow(Window(2, 3, 1.0), 1.0, Estimate(1.0, False, False, {"src": 0.5}, [])),
    )
    text = files.detail_lines(SimpleNamespace(system_results=lambda: [found]), ["a"])
    assert "cät" in text
    assert [json.loads(line) for line in text.splitlines()] == [
        {"system": "a", "segment": 1, "score": 50.0, "parts": {"src": 25.0}, "error_spans": [SPAN._asdict()]},
        {"system": "a", "segment": 2, "score": None, "parts": {}},
        {"system": "a", "segment": 3, "score": 100.0, "parts": {"src": 50.0}, "error_spans": []},
    ]
    windows = result(ScoredWindow(Window(0, 2, 2.0), 0.5, Estimate(0.5, False, False, {"src": 0.25}, None)))
    [line] = files.detail_lines(SimpleNamespace(system_results=lambda: [windows]), ["a"]).splitlines()
    assert json.loads(line) == {"system": "a", "segments": [1, 2], "score": 50.0, "parts": {"src": 25.0}}


def test_truncated_windows_are_marked_at_every_level():
    metric = SLIDE([["x", "y", "z"]], target_lang="en")
    metric.system_results = lambda: [
        result(
            ScoredWindow(Window(0, 2, 2.0), 0.5, Estimate(0.5, True, False)),
            ScoredWindow(Window(2, 3, 1.0), 0.5, Estimate(0.5, False, False)),
        )
    ]
    lines = files.slide_table(metric, ["a"], ["one\tid", "one\tid", "two"]).splitlines()[1:]
    assert [line.split("\t")[-1] for line in lines] == list("10110101")
    assert lines[0] == "window\ta\tone_id\t1\t2\t2.0\t50.0\t1"


def test_a_test_set_brings_its_documents(tmp_path):
    langs = ["de" if doc_id.startswith(("news", "talk", "chat")) else "en" for doc_id in IDS]
    add_test_set(tmp_path, "wmt18", "de-en", lines_of("source.de.txt"), REFERENCES, IDS, langs)
    add_test_set(
        tmp_path, "mtnt2019", "fr-en", lines_of("source.de.txt"), REFERENCES, IDS, langs
    )  # without document ids
    out = tmp_path / "out"
    flags = ["-i", A, "-f", "text", "--confidence", *DOCUMENTS, "--ctx-seg-scores", str(out)]
    done = sacrebleu("-t", "wmt18", "-l", "de-en", "-ol", "de", *flags, SACREBLEU=str(tmp_path))
    assert done.returncode == 0 and "resample:document" in done.stdout, done.stderr
    assert "only 3 documents" in done.stderr
    german = [lines_of(A)[i] for i, lang in enumerate(langs) if lang == "de"]
    assert len(read(out / "bleu-ref.seg.score")["system_a.en"]) == len(german) == 29
    assert len(read(out / "bleu-ref.doc.score")["system_a.en"]) == 3
    done = sacrebleu("-t", "mtnt2019", "-l", "fr-en", *flags, SACREBLEU=str(tmp_path))
    assert done.returncode == 1 and done.stderr.endswith("give --docids FILE; mtnt2019 has none\n")


def test_a_metric_of_another_package(tmp_path):
    env = add_toylen(tmp_path / "site")
    done = sacrebleu(
        *[*f"{REF} -i {A} {B} -m toylen --docids {DOCIDS} --paired-bs --paired-bs-n 40".split(), *DOCUMENTS, "-j", "2"],
        *["--ctx-seg-scores", str(tmp_path / "out")],
        **env,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)[1]["ToyLen"]
    assert read(tmp_path / "out" / "toylen-ref_en.sys.score")["system_b.en"] == [row["score"]] and row["ci"] > 0


@pytest.mark.full
def test_resampling_documents_is_in_the_signature_and_widens_slides_interval(runs):
    by_document, by_segment = (runs[name] for name in ("confidence", "confidence by segment"))
    ours, segments = ({each["name"]: each for each in json.loads(run.stdout)} for run in (by_document, by_segment))
    for name in ("SLIDE-embedded", "BLEU"):
        assert ours[name]["resample"] == "document" and "resample" not in segments[name]
        assert ours[name]["score"] == segments[name]["score"]
        assert ours[name]["confidence_var"] != segments[name]["confidence_var"]
    assert ours["SLIDE-embedded"]["confidence_var"] > segments["SLIDE-embedded"]["confidence_var"]
    assert by_document.stderr.count("there are only 7 documents") == 1
    assert "share its score" not in by_document.stderr and "--docids" not in by_document.stderr
    assert "share its score" in by_segment.stderr and "--ctx-resample document works only" in runs["no test"].stderr
