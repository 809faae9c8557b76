"""A metric of another package: its flags, and the context that reaches its constructor."""

import json

import pytest
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, C, add_package, add_toylen, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu
from selection import some

WORDS = {name: [len(line.split()) for line in lines_of(name)] for name in (A, B, C, REF, SOURCE)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict:
    return add_toylen(tmp_path_factory.mktemp("toylen"))


@pytest.fixture
def toylen(installed, tmp_path):
    """Runs the command; gives it and what each of the metric's objects was made with."""

    def call(*args, **options):
        log = tmp_path / "log"
        done = sacrebleu(*args, **installed, TOYLEN_LOG=str(log), **options)
        return done, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return call


def ratio(system: str, against: str) -> float:
    return 100 * sum(WORDS[system]) / sum(WORDS[against])


def test_help_shows_its_flag(toylen):
    done, made = toylen("--help")
    assert done.returncode == 0 and not made and "\n  toylen        --toylen-scale\n" in done.stdout
    done, made = toylen("-m", "toylen", "--help")
    assert "ToyLen related arguments" in done.stdout and "--toylen-scale" in done.stdout
    assert "Factor of every score. (Default: 1.0)" in " ".join(done.stdout.split())


def test_without_context(toylen):
    done, (made,) = toylen(REF, "-i", A, "-m", "toylen", "-w", "6")
    assert json.loads(done.stdout)["score"] == pytest.approx(ratio(A, REF), abs=1e-6)
    absent = dict.fromkeys(("sources", "doc_ids", "source_lang", "target_lang"))
    assert made == {**absent, "references": [lines_of(REF)], "systems": [lines_of(A)], "scale": 1.0}
    assert done.stderr == ""


def test_its_flag_its_sources_document_ids_and_languages(toylen):
    done, (made,) = toylen(
        *f"{REF} -i {A} -m toylen --toylen-scale 0.5 --source {SOURCE} --docids {DOCIDS} -l de-en -b -w 6".split()
    )
    assert float(done.stdout) == pytest.approx(ratio(A, SOURCE) / 2, abs=1e-6)
    assert made["sources"] == lines_of(SOURCE) and made["doc_ids"] == lines_of(DOCIDS)
    assert (made["source_lang"], made["target_lang"], made["scale"]) == ("de", "en", 0.5)
    assert done.stderr == ""


@pytest.mark.parametrize("named", [["-mtoylen"], ["--metrics=toylen"], ["-m", "bleu", "toylen", "chrf"]], ids=" ".join)
def test_every_way_to_name_it_has_its_flags(toylen, named):
    done, (made,) = toylen(REF, *named, "--toylen-scale=0.25", "-i", A)
    assert done.returncode == 0 and made["scale"] == 0.25


def test_every_system_and_reference_of_the_run_reaches_it(toylen):
    done, (made,) = toylen(REF, B, "-i", A, B, C, "-m", "chrf", "toylen", "-b", "--source", SOURCE)
    assert made["systems"] == [lines_of(name) for name in (A, B, C)]
    assert made["references"] == [lines_of(REF), lines_of(B)]
    rows = json.loads(done.stdout)
    assert [row["system"] for row in rows] == [A, B, C]
    expected = [ratio(name, SOURCE) for name in (A, B, C)]
    assert [float(row["ToyLen"]) for row in rows] == pytest.approx(expected, abs=0.06)


def test_systems_from_the_standard_input(toylen):
    columns = "".join(f"{a}\t{c}\n" for a, c in zip(lines_of(A), lines_of(C)))
    done, (made,) = toylen(REF, "-m", "toylen", "--source", SOURCE, stdin=columns)
    assert made["systems"] == [lines_of(A), lines_of(C)]
    assert [row["system"] for row in json.loads(done.stdout)] == ["System 1", "System 2"]


def test_sentence_level_goes_by_position(toylen, tmp_path):
    """Two equal hypotheses have different sources, so their scores differ."""
    (tmp_path / "hyp").write_text("one two\none two\nthree\n")
    (tmp_path / "ref").write_text("one\none\none\n")
    (tmp_path / "src").write_text("eins\neins zwei drei vier\neins zwei\n")
    done, made = toylen(
        tmp_path / "ref", "-i", tmp_path / "hyp", "-m", "toylen", "-sl", "-b", "--source", tmp_path / "src"
    )
    assert done.stdout.split() == ["200.0", "50.0", "50.0"] and len(made) == 1
    done, _ = toylen(tmp_path / "ref", "-i", tmp_path / "hyp", "-m", "toylen", "-sl", "-f", "text")
    assert [line.split(" = ")[1] for line in done.stdout.splitlines()] == ["200.0", "200.0", "100.0"]


def test_paired_tests(toylen):
    done, (made,) = toylen(
        *f"{REF} -i {A} {B} {C} -m toylen --paired-ar --paired-ar-n 50 -j 2 --source {SOURCE}".split()
    )
    rows = json.loads(done.stdout)
    assert [row["ToyLen"]["score"] for row in rows] == pytest.approx([ratio(name, SOURCE) for name in (A, B, C)])
    assert rows[0]["ToyLen"]["p_value"] is None and all(0 < row["ToyLen"]["p_value"] <= 1 for row in rows[1:])
    assert len(made["systems"]) == 3


BAD = {
    "short": 'group.add_argument("-tl")',
    "foreign": 'group.add_argument("--length-scale", type=float)',
    "prefix": 'group.add_argument("--badflags", type=float)',
    "alias": 'group.add_argument("--badflags-scale", "--scale")',
    "taken": 'group.add_argument("--source")',
    "place": 'group.add_argument("files", nargs="*")',
    "dest": 'group.add_argument("--badflags-scale", dest="metrics")',
    "raises": "1 / 0",
}


@pytest.mark.parametrize("kind", some(BAD, ["foreign", "dest", "raises"]))
def test_flags_that_are_not_its_own_are_refused(tmp_path, kind):
    statement = BAD[kind]
    module = f"from sacrebleu.metrics import CHRF\nclass Bad(CHRF):\n    @classmethod\n    def add_arguments(cls, group):\n        {statement}\n"
    env = add_package(tmp_path, {"badflags": "bad_flags:Bad"}, {"bad_flags.py": module}, "bad_flags")
    done = sacrebleu(REF, "-i", A, "-m", "badflags", **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sacreBLEU: error: metric badflags: its flag") and done.stderr.count("\n") == 1
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "-b", **env)
    assert (done.returncode, done.stderr) == (0, "")
    done = sacrebleu("--help", **env)
    assert done.returncode == 0 and "\n  badflags      (cannot be used)\n" in done.stdout
    assert done.stderr.startswith("ctx-metrics: metric badflags: its flag") and done.stderr.count("\n") == 1


def test_a_metric_without_flags_of_its_own(tmp_path):
    env = add_package(
        tmp_path,
        {"mychrf": "my_chrf:Mine"},
        {"my_chrf.py": "from sacrebleu.metrics import CHRF\nclass Mine(CHRF):\n    pass\n"},
    )
    mine, chrf = (sacrebleu(REF, "-i", A, B, "-m", name, "-f", "text", **env) for name in ("mychrf", "chrf"))
    assert (mine.returncode, mine.stdout) == (0, chrf.stdout)


FAULTY = """
from sacrebleu.metrics import CHRF
from sacrebleu.metrics.base import Score
class TextScore(CHRF):
    def _aggregate_and_compute(self, stats):
        return Score("TextScore", "high")
class TextRows(CHRF):
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        return ["high"]
class Raises(CHRF):
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        raise KeyError("two\\nlines")
class Unmade(CHRF):
    def __init__(self, references=None):
        raise RuntimeError("no model")
class NoScore(CHRF):
    def _compute_score_from_stats(self, stats):
        return 3.5
"""
SAYS = {
    "textscore": "its score is 'high', not a Score with a number; leave this metric out",
    "textrows": "'high' is not a score; leave this metric out",
    "raises": r"the metric fails: KeyError: 'two\nlines'; leave it out, or report it to its authors",
    "unmade": "the metric fails: RuntimeError: no model; leave it out, or report it to its authors",
    "noscore": "its score is 3.5, not a Score with a number; leave this metric out",
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> dict:
    classes = {each.lower(): f"faulty:{each}" for each in ("TextScore", "TextRows", "Raises", "Unmade", "NoScore")}
    return add_package(tmp_path_factory.mktemp("faulty"), classes, {"faulty.py": FAULTY}, "faulty")


WAYS = [f"-i {A}", f"-i {A} {B} --paired-bs", f"-i {A} -sl", f"-i {A} --ctx-seg-scores out"]


@pytest.mark.parametrize("way", some(WAYS, WAYS[:1]))
@pytest.mark.parametrize("name", some(SAYS, ["textscore", "raises"]))
def test_what_goes_wrong_in_it_is_one_line(faulty, name, way, tmp_path):
    done = sacrebleu(REF, *way.replace(" out", f" {tmp_path}").split(), "-m", name, **faulty)
    said = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert way != WAYS[0] or len(said) == 1
    assert said[-1].startswith(f"sacreBLEU: error: {name}") and said[-1].endswith(SAYS[name])
