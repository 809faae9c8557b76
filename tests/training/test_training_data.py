import hashlib
import tarfile

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.training.data import data_sha256
from ctx_metrics.training.quality.judgements import (
    Judgement,
    averaged,
    read_judgements,
    read_of,
    share,
    texts_of,
    usable,
    whole_parts,
)
from ctx_metrics.training.quality.options import TrainingOptions

NAN = float("nan")


def row(hypothesis="m", reference="r", score=0.0, system="A", **more):
    return Judgement(hypothesis, reference, score, "toy", system, None, **more)


def test_a_table_keeps_every_judgement(put):
    rows = "A|d|1|s|m|r|1|x", "B|d|1|s|n|r|2|x", "A|d|1|s|m|r|5|y", "A|d|2|s|m|r|7|x"
    path = put("a.de-en.tsv", "system|doc|seg|src|mt|ref|score|rater", *rows)
    [found] = read_judgements([path])
    assert (found.path, found.name, found.preferences) == (path, "a.de-en", False)
    assert found.rows[0][:8] == ("m", "r", 1, "a.de-en", "A", "d", "s", 0)
    judged = [(each.score, each.segment, each.rater) for each in found.rows]
    assert judged == [(1, 0, "x"), (2, 0, "x"), (5, 0, "y"), (7, 1, "x")]
    outputs = [each.output for each in found.rows]
    assert outputs[0] == outputs[2] and len(set(outputs)) == 3


def test_outputs_of_one_reference_are_of_one_segment_where_no_system_is_named(put):
    path = put("t.tsv", "mt|ref|score", "a|r|1", "b|r|2", "a|q|3", "a|r|4")
    [found] = read_judgements([path])
    assert [each.segment for each in found.rows] == [0, 0, 1, 0]
    assert len({each.output for each in found.rows}) == 4  # no rater: the second a of r is a further output


def test_preferences_are_pairs(put):
    path = put("p.tsv", "src|ref|better|worse", "s|r|a|b", "s|r|b|a", "t|q|c|a")
    [found] = read_judgements([path])
    assert found.preferences and len({each.output for each in found.rows}) == 6
    told = [(each.hypothesis, each.reference, each.source, each.score, each.segment) for each in found.rows]
    assert told[:2] == [("a", "r", "s", 1, 0), ("b", "r", "s", 0, 0)]
    assert told[2:4] == [("b", "r", "s", 1, 1), ("a", "r", "s", 0, 1)]
    assert told[4:] == [("c", "q", "t", 1, 2), ("a", "q", "t", 0, 2)]


def test_language_pairs_of_folders_and_files(put, tmp_path):
    for pair in ("de-en", "fi-en"):
        for kind, lines in {"source": "st", "mt-system": "mn", "reference": "rq", "human": ("1", "None")}.items():
            put(f"news/DAseg.news.{kind}.{pair}", *lines)
    named, plain = put("x.fi-en.tsv", "mt|ref|score", "a|r|1"), put("x.tsv", "mt|ref|score", "a|r|1")
    folder, preferences = str(tmp_path / "news"), put("p.tsv", "ref|better|worse", "r|a|b")
    header = "system|doc|doc_id|rater|source|target|category|severity"
    errors = put("mqm_zhen.tsv", header, "A|d|1|x|s|m|Accuracy|Major")

    def names(*paths, pairs):
        return [each.name for each in read_judgements(paths, TrainingOptions(pairs))]

    assert names(folder, named, plain, pairs=["fi-en"]) == ["news.fi-en", "x.fi-en", "x"]
    assert names(folder, plain, pairs=None) == ["news.de-en", "news.fi-en", "x"]
    assert names(preferences, pairs=["de-en"]) == ["p"] and names(errors, pairs=["zh-en"]) == ["mqm_zhen"]
    for path, pair in ((named, "fi-en"), (errors, "zh-en")):
        with pytest.raises(InputError, match=f"its language pair is {pair}, not de-en"):
            names(path, pairs=["de-en", "ru-en"])


def test_data_sets_of_one_name_are_told_apart(put):
    paths = [put(f"{folder}/train.tsv", "mt|ref|score", "a|r|1") for folder in "ab"]
    assert [each.name for each in read_judgements(paths)] == ["train", f"train ({paths[1]})"]
    with pytest.raises(InputError, match="given twice"):
        read_judgements([paths[0], paths[0].replace("/a/", "/a/../a/")])


def test_texts_are_checked_by_segment_and_system(put):
    path = put("t.tsv", "system|seg|src|mt|ref|score", "A|1|s|a1|r|1", "B|1|s|b1|r|2", "A|2|s2|a2|q|3")
    [texts] = map(texts_of, read_judgements([path]))
    assert {system.name: list(system) for system in texts.systems} == {"t/A": ["a1", "a2"], "t/B": ["b1", None]}
    assert [list(stream) for stream in (*texts.references, texts.sources)] == [["r", "q"], ["s", "s2"]]


def test_mqm_errors_and_trees(put, tmp_path):
    header = "system|doc|doc_id|rater|source|target|category|severity"
    rows = ["hyp.A|d|1|x|s|m|Accuracy|Major", "hyp.A|d|1|y|s|m|No-error|No-error", "ref|d|1|x|s|r|No-error|no-error"]
    [found] = read_judgements([put("e.tsv", header, *rows)], options=TrainingOptions(reference="ref"))
    judged = [(each.hypothesis, each.reference, each.score, each.system) for each in found.rows]
    assert judged == [("m", "r", -2.5, "A"), ("r", "r", 0, "ref")]
    put("tree/sources/de-en.txt", "s")
    put("tree/system-outputs/de-en/A.txt", "m")
    for name in "AB":
        put(f"tree/references/de-en.ref{name}.txt", f"r{name}")
    put("tree/human-scores/de-en.mqm.seg.score", "A|-3")
    put("tree/human-scores/de-en.wmt-z.sys.score", "A|1")
    tree = str(tmp_path / "tree")
    [found] = read_judgements([tree], options=TrainingOptions(reference="refB"))
    assert [each[:5] for each in found.rows] == [("m", "rB", -3, "tree.de-en", "A")]
    with pytest.raises(InputError, match="tree.de-en: has 2 references"):
        read_judgements([tree], options=TrainingOptions(reference="refA,refB"))
    with pytest.raises(InputError, match="tree.de-en: has only system scores"):
        read_judgements([tree], options=TrainingOptions(human=["wmt-z"]))


def test_each_row_is_left_out_for_its_first_lack():
    good, sourced = row("good"), row("good", source="s")
    lacking = [row("", None, NAN, "refA"), row("", None, NAN), row("", " "), row("", None), row(" \t"), row("\u200b")]
    kept, left = usable([good, *lacking, sourced], "mt+ref")
    assert kept == [good, sourced]
    assert left == {"of human systems": 1, "without a score": 1, "without a reference": 2, "without an output": 2}
    kept, left = usable([good, *lacking, sourced], "mt+src")
    assert kept == [sourced] and left["without a source"] == 5


def test_the_mean_of_an_outputs_values():
    rows = [row(name, output=name) for name in "abaca"]
    firsts, means = averaged(rows, np.array([1.0, 5, 2, 0, 6]))
    assert [each.hypothesis for each in firsts] == ["a", "b", "c"] and means.tolist() == [3, 5, 0]


def test_shares_of_paths(put):
    plain, colon = put("a.tsv", ""), put("b:2", "")
    for text, wanted in {
        f"{plain}:1e-2": (plain, 0.01, None),
        f"{plain}:1e-2:700": (plain, 0.01, 700),
        plain: (plain, 1, None),
        colon: (colon, 1, None),  # a file of this name is there
        f"{colon}:3": (colon, 3, None),
        f"{colon}:3:4": (colon, 3, 4),
        "C:/absent": ("C:/absent", 1, None),
        "absent.tsv:2:30": ("absent.tsv", 2, 30),
    }.items():
        assert share(text) == wanted
    for wrong in ("0", "-1", "nan", "inf", "", "1:0", "1:-1", "1:2.5", "1:"):
        with pytest.raises(InputError, match=f"a.tsv:{wrong}: "):
            share(f"{plain}:{wrong}")


def test_some_rows_are_whole_documents_or_segments():
    rows = [row(str(i), segment=i // 3)._replace(document=f"d{i // 6}" if i < 12 else None) for i in range(30)]
    chosen = [whole_parts(rows, 10, seed) for seed in range(20)]
    assert len({tuple(each) for each in chosen}) > 5
    for each in chosen:
        assert 8 <= len(each) <= 10 and each == sorted(set(each))
        parts = {rows[i].document or rows[i].segment for i in each}
        assert each == [i for i, own in enumerate(rows) if (own.document or own.segment) in parts]
    assert whole_parts(rows, 30, 1) == list(range(30)) and whole_parts(rows, 2, 1) == []


def test_hashes_of_files_and_folders(put, tmp_path):
    file = put("f/b.txt", "two")
    assert data_sha256(file) == hashlib.sha256(b"two\n").hexdigest()
    put("f/a/z.txt", "one")
    lines = [
        f"{hashlib.sha256(text).hexdigest()}  {name}\n" for name, text in (("a/z.txt", b"one\n"), ("b.txt", b"two\n"))
    ]
    whole = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert data_sha256(str(tmp_path / "f")) == whole
    (tmp_path / "f" / "b.txt").rename(tmp_path / "f" / "c.txt")
    assert data_sha256(str(tmp_path / "f")) != whole
    with pytest.raises(InputError, match="cannot read .*absent: No such file"):
        data_sha256(str(tmp_path / "absent"))


@pytest.mark.slow
def test_real_judgements(shared_data, tmp_path):
    with tarfile.open(shared_data / "wmt22_mqm" / "wmt22_mqm.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    [found] = read_judgements([str(tmp_path / "wmt22_mqm")], TrainingOptions(["zh-en"]))
    kept, left = usable(found.rows, "mt+ref")
    assert len(found.rows) == 37500 and left["of human systems"] == 3750 and len({each.system for each in kept}) == 14


def test_human_translations_count_where_they_are_asked_for():
    rows = [row("good"), row("free", system="refB"), row(" r ", system="Human-A.0")]
    kept, left = usable(rows, "mt+ref", humans=True)
    assert [each.hypothesis for each in kept] == ["good", "free"]  # the other one is the reference
    assert left == {"of human systems": 1} and usable(rows, "mt+ref")[0] == rows[:1]
    # with a source, the reference is a translation like others, and it is not compared with itself
    rows = [each._replace(source="s") for each in rows]
    for inputs, references in (("mt+src", [None] * 3), ("mt+src+ref", ["r", "r", None])):
        kept, left = usable(rows, inputs, humans=True)
        assert kept == rows and not left and [read_of(each, inputs) for each in kept] == [(r, "s") for r in references]


def test_rankings_hold_no_scores(put):
    with pytest.raises(InputError, match="rankings hold no scores"):
        read_judgements([put("r.csv", "srclang,system1rank", "a,1")])
