"""A metric teaches the training data, or some of it and people the rest."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from sacrebleu.metrics import CHRF, TER
from toy_judgements import write_judgements
from unified_models import QUIET

from ctx_metrics.errors import InputError
from ctx_metrics.meta.scoring import MetricSettings
from ctx_metrics.training.quality import teacher as teacher_module
from ctx_metrics.training.quality.examples import read_training_set, some_rows, with_windows
from ctx_metrics.training.quality.judgements import read_judgements
from ctx_metrics.training.quality.options import TrainingOptions
from ctx_metrics.training.quality.teacher import taught

TEACHER = MetricSettings("chrf", CHRF)
KNOWN = dict.fromkeys("abcst", (None, None))


class WithSources(CHRF):
    """chrF whose signature says whether it was given sources."""

    def __init__(self, sources=None, references=None):
        super().__init__(references=references)
        self.given = "no" if sources is None else "yes"

    def get_signature(self):
        return SimpleNamespace(format=lambda: f"src:{self.given}")


@pytest.fixture
def paths(tmp_path):
    return [str(write_judgements(tmp_path / f"{name}.tsv", 6, seed)) for seed, name in enumerate("abc")]


def z_scores(training, rows):
    """Of chrF, of some rows among themselves."""
    pairs = [(training.hypotheses[row], training.references[row]) for row in rows]
    scores = np.array([CHRF().sentence_score(output, [reference]).score for output, reference in pairs])
    return pytest.approx((scores - scores.mean()) / scores.std(), abs=1e-4)


def test_each_data_set_that_is_taught_has_z_scores_of_its_own(paths, caplog):
    people = read_training_set(paths, "mt+src+ref")
    training = read_training_set(paths, "mt+src+ref", taught=paths[:2])
    found, signature = taught(training, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)
    assert signature.startswith("nrefs:1|case:mixed")
    assert "teacher chrf: 24 of 36 rows learn its scores, the others human scores" in caplog.text
    for rows in (slice(0, 12), slice(12, 24)):
        assert found.targets[rows] == z_scores(found, range(36)[rows])
        assert not np.allclose(found.targets[rows], people.targets[rows])
    assert found.targets[24:].tolist() == people.targets[24:].tolist()
    for name in ("hypotheses", "references", "sources", "groups", "origins"):
        assert getattr(found, name) == getattr(people, name)
    assert found.weights.tolist() == people.weights.tolist()


def test_a_teacher_scores_windows_and_drawn_rows(put, paths):
    """What a window's teacher reads is the whole window, while people's rows keep the mean of their scores."""
    documents = [f"{system}|d|{k}|{'cat dog bird'[: 5 + k]}|cat bird{k}|{k}" for system in "AB" for k in range(4)]
    table = put("t.tsv", "system|doc|seg|mt|ref|score", *documents)
    training = with_windows(read_training_set([paths[0], table], "mt+src+ref", taught=[table]), 2, seed=1)
    assert np.isnan(training.targets[12:]).all() and len(training) == 12 + 8 + 4
    found, _ = taught(training, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)
    assert found.hypotheses[-1].count("cat") == 2
    assert found.targets[12:] == z_scores(found, range(12, 24))
    few = some_rows(training, 9, seed=1)
    own = np.isnan(few.targets)
    again, _ = taught(few, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)
    assert 0 < own.sum() < 9 and again.targets[~own].tolist() == few.targets[~own].tolist()
    assert np.isfinite(again.targets).all()
    with pytest.raises(InputError, match="raise --rows"):
        taught(read_training_set(paths[:1]), TEACHER, languages=KNOWN, engine=QUIET)


def test_it_reads_all_texts_that_a_row_has(put, monkeypatch, caplog):
    table = put("t.tsv", "src|mt|ref|score", "s1|m1 x|m1|", "s2|m2|m2|", "|m3 y|m3 z|", "|m4|z m4|")
    training, given = read_training_set([table], "mt+src+ref", taught=[table]), []
    scored = teacher_module.score_set

    def keep(judged, *more):
        given.append((list(judged.texts[0]), list(judged.references[0]), judged.sources))
        return scored(judged, *more)

    monkeypatch.setattr(teacher_module, "score_set", keep)
    found, signature = taught(training, MetricSettings("own", WithSources), languages=KNOWN, engine=QUIET)
    assert given == [(["m1 x", "m2"], ["m1", "m2"], ["s1", "s2"]), (["m3 y", "m4"], ["m3 z", "z m4"], None)]
    assert signature == "src:yes, src:no"
    assert "teacher own: not all data sets are scored alike, but as src:yes and as src:no" in caplog.text
    assert found.targets == z_scores(found, range(4))


def test_a_network_that_reads_no_references_learns_from_a_teacher_that_does(put, paths):
    table = put("t.tsv", "src|mt|ref|score", "s1|m1 x|m1|", "s2|m2|m2|", "s3||m3|", "|m4|m4|")
    training = read_training_set([paths[0], table], "mt+src", taught=[table])
    assert training.references == [*[None] * 12, "m1", "m2"]  # of the taught rows, those with a source
    found, _ = taught(training, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)
    assert found.targets[12:].tolist() == [-1.0, 1.0]
    read = found.read_as("mt+src")
    assert read.references == [None] * 14 and read.partners[12:] == ["s1", "s2"]
    assert read.targets is found.targets and found.read_as("mt+src+ref") is found


def test_rows_without_what_the_teacher_reads_are_named(put):
    table = put("t.tsv", "src|mt|ref|score", "s1|m1 x|m1|", "s2|m2||", "s3|m3||")
    training = read_training_set([table], "mt+src+ref", taught=[table])
    with pytest.raises(InputError, match="teacher chrf: cannot score 2 training rows of t: no references"):
        taught(training, TEACHER, languages=KNOWN, engine=QUIET)


def test_all_rows_may_have_one_scale_and_less_may_be_better(paths):
    training = read_training_set([paths[0], f"{paths[1]}:0.5"], taught=paths[:2])
    assert np.isnan(training.targets).all()
    found, _ = taught(training, TEACHER, languages=KNOWN, engine=QUIET)
    assert found.targets == z_scores(found, range(24))
    backwards, _ = taught(training, MetricSettings("ter", TER), languages=KNOWN, engine=QUIET)
    assert np.corrcoef(backwards.targets, found.targets)[0, 1] > 0.5


def test_kept_scores_are_of_the_taught_rows_only(paths, tmp_path, monkeypatch, caplog):
    """Human scores, and texts that people judged, can change; what was taught cannot, nor its sources, nor the teacher."""
    kept = tmp_path / "kept.npz"
    training = read_training_set(paths[:2], "mt+src+ref", taught=paths[1:2])
    named = {"languages": KNOWN, "of_each_set": True, "engine": QUIET, "kept": kept}
    first, signature = taught(training, TEACHER, **named)
    monkeypatch.setattr(teacher_module, "score_set", lambda *_: pytest.fail("it is scored again"))
    other = read_training_set([paths[2], paths[1]], "mt+src+ref", taught=paths[1:2])
    again, same = taught(other, TEACHER, **named)
    assert again.targets[12:].tolist() == first.targets[12:].tolist() and same == signature
    assert f"the teacher's scores are read from {kept}" in caplog.text
    moved = replace(training, sources=[*training.sources[:-1], "another"])
    for given in ((moved, TEACHER), (training, MetricSettings("chrf", CHRF, {"word_order": 2}))):
        with pytest.raises(InputError, match="of other texts, or of another teacher"):
            taught(*given, **named)
    whole = kept.read_bytes()
    at = whole.index(b"scores.npy") + 200  # one bit of a score
    for content in (b"no scores", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
        kept.write_bytes(content)
        with pytest.raises(InputError, match="name another file with --teacher-scores"):
            taught(training, TEACHER, **named)


def test_one_data_set_without_spread_counts_as_0_and_all_are_refused(put, paths, caplog):
    table = put("s.tsv", "mt|ref|score", "cat|cat|", "dog|dog|")
    training = read_training_set([paths[0], table], taught=[paths[0], table])
    found, _ = taught(training, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)
    assert found.targets[12:].tolist() == [0, 0] and found.targets[:12].any()
    assert "teacher chrf: 2 scores without any spread within data set count as 0" in caplog.text
    training = read_training_set([paths[0], table], taught=[table])
    with pytest.raises(InputError, match="teacher chrf: gives all rows the same score"):
        taught(training, TEACHER, languages=KNOWN, of_each_set=True, engine=QUIET)


def test_what_is_taught_needs_no_scores(put, paths, tmp_path):
    """Neither a column of scores, nor those that --score-column names, nor a tree's scores of the kind asked for."""
    bare = put("t.tsv", "src|mt|ref|system", "s|m|r|A", "s|n|r|B")
    put("tree/sources/de-en.txt", "s")
    put("tree/system-outputs/de-en/A.txt", "m")
    put("tree/references/de-en.refA.txt", "r")
    put("tree/human-scores/de-en.wmt-z.sys.score", "A|1")
    tree = str(tmp_path / "tree")
    options = TrainingOptions(score=[["score"]])
    found = read_training_set([bare, tree, paths[0]], options=options, taught=[bare, tree])
    assert found.hypotheses[:3] == ["m", "n", "m"] and found.groups[0] == found.groups[1]
    assert np.isnan(found.targets[:3]).all() and np.isfinite(found.targets[3:]).all()
    assert list(found.scores) == [paths[0]] and found.by_system == []
    for path, what in ((bare, "no column score"), (tree, "no human scores|has none|mqm")):
        with pytest.raises(InputError, match=what):
            read_training_set([path, paths[0]], taught=[paths[0]])
    [one] = read_judgements([tree], TrainingOptions(human=["wmt-z"]), unscored=[tree])
    assert np.isnan(one.rows[0].score) and not one.by_system


def test_average_makes_one_row_of_an_output_that_is_taught(put):
    table = put("t.tsv", "system|seg|mt|ref|score|rater", "A|1|m|r|1|x", "A|1|m|r|2|y", "B|1|n|r|2|y")
    assert read_training_set([table], taught=[table]).hypotheses == ["m", "m", "n"]
    found = read_training_set([table], average=True, taught=[table])
    assert found.hypotheses == ["m", "n"] and np.isnan(found.targets).all()


@pytest.mark.full
def test_a_model_without_references_learns_from_a_metric_that_reads_them(ctx, tiny_xlmr, paths, tmp_path):
    out = tmp_path / "out"
    options = ["--inputs", "mt+src+ref", "--encoder", tiny_xlmr, "--rank", "2", "--feedforward", "5", "--no-plot"]
    same = os.path.join(os.path.dirname(paths[1]), ".", os.path.basename(paths[1]))  # ./b.tsv is b.tsv
    options += ["--teacher", "chrf", "--chrf-word-order", "2", "--taught", same, "--centred", same]
    done = ctx("train", "comet", *options, "--train", *paths[:2], "--dev", paths[2], "--epochs", "1", "--out", out)
    assert done.code == 0, done.err
    assert "teacher chrf: 12 of 24 rows learn its scores, the others human scores" in done.err
    config, card = json.loads((out / "config.json").read_text()), (out / "README.md").read_text()
    assert config["targets"]["taught"] == ["b.tsv"] and "nw:2" in config["targets"]["teacher"]
    assert config["targets"]["normalise"] == "annotator"
    assert [each.get("scores") for each in config["data"]["train"]] == [None, "chrf"]
    assert "as z-scores of each data set, for the rows of b.tsv; for the others z-scores of each annotator" in card
    done = ctx(
        "train", "comet", *options[:-4], "--train", paths[1], "--dev", paths[2], "--epochs", "1", "--out", f"{out}2"
    )
    assert done.code == 0, done.err
    assert list(json.loads((tmp_path / "out2" / "config.json").read_text())["targets"]) == ["teacher"]
