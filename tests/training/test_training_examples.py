import tarfile
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from embedded_regressor import DA15_PAIRS, DA16_PAIRS, MQM_FILES, training_set

from ctx_metrics.errors import InputError
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import (
    FLAT,
    Origin,
    TrainingSet,
    read_training_set,
    standardised,
    with_windows,
)
from ctx_metrics.training.quality.options import TrainingOptions

RATED = (
    "system|seg|src|mt|ref|score|rater",
    "A|1|s1|a1|r1|10|x",
    "B|1|s1|b1|r1|30|x",
    "A|1|s1|a1|r1|1|y",
    "B|1|s1|b1|r1|2|y",
    "B|2|s2|b2|r2|3|y",
    "A|2|s2|a2|r2|50|z",
)
Y = 1.5**0.5  # rater y: mean 2, variance (1 + 0 + 1) / 3, so z = -+1 / sqrt(2/3)


def test_a_row_for_each_judgement_standardised_by_rater(put, caplog):
    path = put("t.tsv", *RATED)
    found = read_training_set([path])
    assert found.hypotheses == ["a1", "b1", "a1", "b1", "b2", "a2"]
    assert found.partners == ["r1", "r1", "r1", "r1", "r2", "r2"]
    # rater x: mean 20, deviation 10; rater z judged once
    np.testing.assert_allclose(found.targets, [-1, 1, -Y, 0, Y, 0])
    assert found.groups == ["t:0"] * 4 + ["t:1"] * 2
    assert found.datasets == ["t"] * 6 and found.weights.tolist() == [1] * 6 and len(found) == 6
    assert found.targets.dtype == found.weights.dtype == np.float64
    assert found.counts == {path: {"rows": 6, "kept": 6, FLAT: 1}} and found.rooted == []
    assert caplog.messages == [
        f"{path}: 6 rows to learn from; 1 score without any spread within rater or data set count as 0"
    ]


def test_averages_of_standardised_judgements(put):
    found = read_training_set([put("t.tsv", *RATED)], average=True)
    assert found.hypotheses == ["a1", "b1", "b2", "a2"]
    np.testing.assert_allclose(found.targets, [(-1 - Y) / 2, (1 + 0) / 2, Y, 0])
    raw = read_training_set([put("t.tsv", *RATED)], average=True, normalise="none")
    assert raw.targets.tolist() == [5.5, 16, 3, 50] and raw.groups == ["t:0", "t:0", "t:1", "t:1"]


def test_standardised_by_file_or_not_at_all(put):
    path = put("t.tsv", *RATED)
    scores = np.array([10, 30, 1, 2, 3, 50])
    # mean 16; deviations -6 14 -15 -14 -13 34; squares 36 196 225 196 169 1156, of which the mean is 1978 / 6
    found = read_training_set([path], normalise="file")
    np.testing.assert_allclose(found.targets, (scores - 16) / (1978 / 6) ** 0.5)
    assert read_training_set([path], normalise="none").targets.tolist() == scores.tolist()


def test_each_data_set_is_standardised_and_weighted_by_itself(put, tmp_path):
    paths = [
        put(f"{name}.tsv", "mt|ref|score", f"{name}|r|{low}", f"{name}2|r|{high}") for name, low, high in ("p01", "q68")
    ]
    found = read_training_set([paths[0], f"{paths[1]}:0.25"])
    assert found.targets.tolist() == [-1, 1, -1, 1]
    assert found.weights.tolist() == [1, 1, 0.25, 0.25]
    assert found.datasets == ["p", "p", "q", "q"] and found.groups == ["p:0", "p:0", "q:0", "q:0"]
    assert found.counts == {path: {"rows": 2, "kept": 2} for path in paths}


def test_raters_of_two_files_have_nothing_in_common(put):
    paths = [put(f"{k}/t.tsv", "mt|ref|score|rater", f"a|r|{k}|x", f"b|r|{k + 2}|x") for k in (0, 100)]
    found = read_training_set(paths)
    assert found.targets.tolist() == [-1, 1, -1, 1]
    assert len(set(found.groups)) == len(set(found.datasets)) == 2


def test_what_is_left_out_is_counted_and_said_once_a_path(put, caplog):
    rows = "A|1|a1|r1|1", "refA|1|h1|r1|9", "A|2|a2|r2|None", "A|3|a3||5", "A|4| |r4|6", "A|5|a5|r5|3"
    path = put("t.tsv", "system|seg|mt|ref|score", *rows)
    found = read_training_set([path])
    assert (found.hypotheses, found.targets.tolist()) == (["a1", "a5"], [-1, 1])
    counts = {"of human systems": 1, "without a score": 1, "without a reference": 1, "without an output": 1}
    assert found.counts == {path: {"rows": 6, "kept": 2, **counts}}
    [said] = caplog.messages
    assert said.startswith(f"{path}: 2 rows to learn from; left out 1 row of human systems, 1 without a score")


def test_outputs_alone_in_their_segment_have_nothing_to_be_compared_with(put, caplog):
    rows = "system|seg|mt|src|score", "A|1|a1|s1|1", "B|1|b1|s1|2", "A|2|a2|s2|9", "A|3|a3|s3|4", "B|3|b3|s3|4"
    paths = [put("t.tsv", *rows), put("u.tsv", *rows)]
    found = read_training_set([paths[0], f"{paths[1]}:2"], "mt+src", centred=paths[:1])
    assert found.hypotheses == ["a1", "b1", "a3", "b3", "a1", "b1", "a2", "a3", "b3"]
    assert found.centred.tolist() == [True] * 4 + [False] * 5
    assert found.counts[paths[0]] == {"rows": 5, "kept": 4, "alone in their segment": 1}
    assert caplog.messages == [f"{paths[0]}: 4 rows to learn from; left out 1 row alone in their segment"]
    with pytest.raises(InputError, match="--centred v.tsv: is not a path of --train"):
        read_training_set(paths, "mt+src", centred=["v.tsv"])


def test_roots_of_penalties(put, caplog):
    header = "mt|ref|mqm"
    mqm = put("mqm.tsv", header, "a|r|-25", "b|r|-1", "c|r|0", "d|r|-4")
    mixed = put("mixed.tsv", header, "a|r|-25", "b|r|1")
    zero = put("zero.tsv", header, "a|r|0", "b|r|0")
    found = read_training_set([mqm, mixed, zero], normalise="none")
    assert found.targets.tolist() == [-5, -1, 0, -2, -25, 1, 0, 0]
    assert found.rooted == ["mqm"]
    assert caplog.messages == ["learned as minus the root of their penalties: mqm"]
    # -5 -1 0 -2: mean -2, variance (9 + 1 + 4 + 0) / 4
    np.testing.assert_allclose(read_training_set([mqm]).targets, np.array([-3, 1, 2, 0]) / 3.5**0.5)
    plain = read_training_set([mqm], normalise="none", mqm_root=False)
    assert plain.targets.tolist() == [-25, -1, 0, -4] and plain.rooted == []


def test_human_scores_do_not_decide_whether_all_are_penalties(put):
    path = put("t.tsv", "system|seg|mt|ref|mqm", "ref|1|h|r|1", "A|1|a|r|-4", "B|1|b|r|-9")
    assert read_training_set([path], normalise="none").targets.tolist() == [-2, -3]


def test_preferences_stay_as_they_are(put):
    path = put("p.tsv", "ref|better|worse", "r|a|b", "r|a|c")
    found = read_training_set([f"{path}:3"], average=True)
    assert found.hypotheses == ["a", "b", "a", "c"]
    assert (found.targets.tolist(), found.weights.tolist()) == ([1, 0, 1, 0], [3] * 4)
    assert found.groups == ["p:0", "p:0", "p:1", "p:1"]


def test_what_cannot_be_learned_from(put):
    with pytest.raises(InputError, match="t.tsv: no rows are left to learn from; left out 2 rows without a score"):
        read_training_set([put("t.tsv", "mt|ref|score", "a|r|None", "b|r|None")])
    with pytest.raises(InputError, match="no files to learn from"):
        read_training_set([])


def test_equal_scores_are_standardised_to_0():
    z, flat = standardised(np.full(3, 0.1), ["x"] * 3)  # of which the computed deviation is 1.4e-17
    assert z.tolist() == [0, 0, 0] and flat == 3


@pytest.fixture(scope="module")
def da(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("da")
    with tarfile.open(shared_data / "wmt15_16_da" / "wmt15_16_da.tar.xz") as tar:
        tar.extractall(folder, filter="data")
    return folder / "wmt15_16_da"


@pytest.mark.slow
def test_real_direct_assessment(da):
    found = read_training_set([str(da / "DAseg-wmt-newstest2016")], options=TrainingOptions(pairs=DA16_PAIRS))
    assert len(found) == 3360 and set(Counter(found.datasets).values()) == {560}
    assert found.targets.mean() == pytest.approx(0) and found.targets.std() == pytest.approx(1)
    assert (
        len(read_training_set([str(da / "DAseg-wmt-newstest2015")], options=TrainingOptions(pairs=DA15_PAIRS))) == 2000
    )


@pytest.mark.slow
def test_real_post_edits(shared_data):
    paths = sorted(map(str, (shared_data / "mlqe_pe").glob("??-en.train.tsv.xz")))
    found = read_training_set(paths)
    assert Counter(found.datasets) == {f"{lang}-en.train": 7000 for lang in ("et", "ne", "ro", "ru", "si")}
    assert found.partners[0] != found.hypotheses[0] and len(read_training_set(paths[:1], "mt+src")) == 7000


@pytest.mark.slow
def test_targets_of_the_embedded_model(shared_data, da):
    """The training set that the shipped comet was fitted to, which embedded_regressor reads by itself."""
    rows, targets, _ = training_set(shared_data)
    mqm = [str(shared_data / "wmt20_21_mqm" / f"{name}.tsv.xz") for name in MQM_FILES]
    found = read_training_set(
        [str(da / "DAseg-wmt-newstest2016"), *(f"{path}:0.05" for path in mqm)],
        options=TrainingOptions(pairs=[*DA16_PAIRS, "zh-en"]),
    )
    assert Counter(found.datasets)["wmt20.news.zh-en"] == 16000 and found.rooted == list(MQM_FILES)
    assert Counter(found.weights.tolist()) == {1.0: 3360, 0.05: 31327}

    def key(hypothesis, partner, dataset, target):
        return hypothesis, partner, dataset, round(target, 4)

    ours = Counter(map(key, found.hypotheses, found.partners, found.datasets, found.targets.tolist()))
    theirs = Counter(key(j.hypothesis, j.reference, j.dataset, target) for j, target in zip(rows, targets))
    assert sum((ours - theirs).values()) < 30  # single precision rounds a few to the other side


def test_outputs_learn_their_systems_score_where_only_systems_were_judged(put, tmp_path, caplog):
    put("w/DA-syslevel.csv", "LP HUMAN SYSTEM", "de-en 1.0 A", "de-en 3.0 B")
    for system in "AB":
        put(f"w/system-outputs/de-en/t.{system}.de-en", f"{system}1", f"{system}2")
    put("w/references/t-deen-ref.en", "r1", "r2")
    put("w/source/t-deen-src.de", "s1", "s2")
    path = str(tmp_path / "w")
    found = read_training_set([path], "mt+src+ref")
    assert found.hypotheses == ["A1", "B1", "A2", "B2"] and found.references == ["r1", "r1", "r2", "r2"]
    assert found.targets.tolist() == [-1, 1, -1, 1] and len(set(found.groups)) == 2
    assert found.by_system == ["t.de-en"]
    assert "only systems were judged, so each output gets its system's score: t.de-en" in caplog.text
    fewer = read_training_set([f"{path}:0.5:3"])
    assert fewer.counts == {path: {"rows": 4, "kept": 2, "beyond 3 a data set": 2}}
    assert fewer.targets.tolist() == [-1, 1] and fewer.weights.tolist() == [0.5, 0.5]
    assert f"{path}: 2 rows to learn from; left out 2 rows beyond 3 a data set" in caplog.text
    with pytest.raises(InputError, match="documents are taken whole, and none is that small: allow more rows"):
        read_training_set([f"{path}:1:1"])
    with pytest.raises(InputError, match="t.de-en: has only system scores; training needs segment scores"):
        read_development([path])


def rows(*documents, raters=1, systems=("A", "B")):
    """Systems' outputs of documents of so many sentences; the targets count up."""
    columns = [
        (f"{system}{segment}", f"r{segment}", f"s{segment}", f"toy:{segment}", Origin("toy", system, document, segment))
        for segment, document in enumerate(d for number, n in enumerate(documents) for d in [f"d{number}"] * n)
        for system in systems
        for _ in range(raters)
    ]
    hypotheses, references, sources, groups, origins = map(list, zip(*columns))
    n = len(columns)
    columns = np.arange(n, dtype=float), np.ones(n), np.zeros(n, bool)
    return TrainingSet(hypotheses, references, sources, *columns, groups, origins, {}, [])


def test_windows_of_two_are_joined_and_averaged_within_documents():
    found = with_windows(rows(3, 2), 2, seed=1)
    assert found.hypotheses[10:] == ["A0 A1", "B0 B1", "A3 A4", "B3 B4"]
    assert found.references[10:] == ["r0 r1", "r0 r1", "r3 r4", "r3 r4"] and found.sources[10] == "s0 s1"
    assert found.targets[10:].tolist() == [1.0, 2.0, 7.0, 8.0]  # of rows 0 and 2, 1 and 3, 6 and 8, 7 and 9
    assert found.groups[10] == found.groups[11] != found.groups[12]
    assert found.hypotheses[:10] == rows(3, 2).hypotheses and found.origins[12] == Origin("toy", "A", "d1", 3)


def test_windows_of_centred_rows_are_centred():
    found = rows(2, raters=2, systems=("A",))
    found.centred[:] = True
    found = with_windows(found, 2, seed=1)
    assert found.centred.all() and len(found) == 5 and found.targets[4:].tolist() == [1.5]  # of all four judgements


def test_lengths_are_drawn_and_cover_the_document():
    found = with_windows(rows(40, systems=("A",)), 5, seed=3)
    lengths = [len(text.split()) for text in found.hypotheses[40:]]
    assert set(lengths) == {2, 3, 4, 5} and sum(lengths) in (39, 40)
    assert " ".join(found.hypotheses[40:]).split() == [f"A{k}" for k in range(sum(lengths))]
    again, other = (with_windows(rows(40, systems=("A",)), 5, seed=seed).hypotheses for seed in (3, 4))
    assert again == found.hypotheses != other


def test_a_system_that_lacks_a_sentence_makes_no_window_of_it():
    whole = rows(2)
    columns = {name: each[:3] for name, each in vars(whole).items() if isinstance(each, (list, np.ndarray))}
    assert with_windows(replace(whole, **columns), 2, seed=1).hypotheses[3:] == ["A0 A1"]


def test_nothing_to_join():
    with pytest.raises(InputError, match="--window: no document has two outputs of one system in a row"):
        with_windows(rows(1, 1), 3, seed=1)
