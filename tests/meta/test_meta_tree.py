import lzma
import tarfile

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.judgements.readers.tree import human_names, read_tree, tree_pairs

NAN = float("nan")


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text.encode()) if name.endswith(".xz") else text.encode())
    return folder


def of_pair(pair="de-en", outputs="system-outputs"):
    """Three segments, two documents, systems A, B and refB; A has scores, B has None and a number, refB has none."""
    return {
        f"sources/{pair}.txt": "s1\ns2\ns3\n",
        f"references/{pair}.refA.txt": "a1\na2\na3\n",
        f"references/{pair}.refB.txt": "b1\nb2\nb3\n",
        f"documents/{pair}.docs": "news\td1\nnews\td1\nchat\td2\n",
        f"{outputs}/A.txt": "x1\nx2\nx3\n",
        f"{outputs}/B.txt": "y1\n\ny3\n",
        f"{outputs}/refB.txt": "b1\nb2\nb3\n",
        f"human-scores/{pair}.mqm.seg.score": "A\t-1\nA\t-2\nB\tNone\nA\t-6\nB\t-5.5\nB\tNone\n",
    }


@pytest.fixture
def tree(tmp_path):
    """The layout of mt-metrics-eval: all pairs in one folder a kind."""
    return write(
        tmp_path / "wmt99", {**of_pair("de-en", "system-outputs/de-en"), **of_pair("liv-en", "system-outputs/liv-en")}
    )


def test_layout_of_mt_metrics_eval(tree):
    assert tree_pairs(str(tree)) == ["de-en", "liv-en"]
    judged = read_tree(str(tree), "de-en", reference="refB")
    assert (judged.name, judged.source_lang, judged.target_lang) == ("wmt99.de-en", "de", "en")
    assert judged.systems == ["A", "B", "refB"]
    assert judged.hypotheses == [["x1", "x2", "x3"], ["y1", "", "y3"], ["b1", "b2", "b3"]]
    assert (judged.sources, judged.references) == (["s1", "s2", "s3"], [["b1", "b2", "b3"]])
    assert judged.doc_ids == ["d1", "d1", "d2"]
    np.testing.assert_array_equal(judged.segment_scores, [[-1, -2, -6], [NAN, -5.5, NAN], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(judged.system_scores, [-3, -5.5, NAN])  # means of what is judged


def test_layout_with_a_folder_for_each_pair(tmp_path):
    root = tmp_path / "wmt99"
    for pair in ("de-en", "en-ru"):
        write(root / pair, of_pair(pair))
    write(root / "notes", {"human-scores/de-en.mqm.seg.score": "A\t1\n"})  # no folder of a pair
    assert tree_pairs(str(root)) == ["de-en", "en-ru"]
    judged = read_tree(str(root), "en-ru", reference="refA")
    assert judged.name == "wmt99.en-ru" and len(judged.systems) == 3
    of_one = read_tree(str(root / "en-ru"), "en-ru", reference="refA")
    assert of_one.name == "wmt99.en-ru" and of_one.hypotheses == judged.hypotheses


def test_a_relative_path_names_the_set_too(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert read_tree(".", "de-en", reference="refA").name == "wmt99.de-en"


def test_system_scores_of_their_own_file(tree):
    write(tree, {"human-scores/de-en.mqm.sys.score": "B\t-5.501\nA\tNone\n"})
    np.testing.assert_array_equal(read_tree(str(tree), "de-en", reference="refA").system_scores, [NAN, -5.501, NAN])
    (tree / "human-scores/de-en.mqm.seg.score").unlink()
    judged = read_tree(str(tree), "de-en", reference="refA")
    assert judged.segment_scores is None and judged.system_scores[1] == -5.501


def test_system_scores_of_other_segments_are_not_taken(tree, caplog):
    """A part of a test set beside people's scores of all its systems on the whole of it."""
    write(tree, {"human-scores/de-en.mqm.sys.score": "A\t-7\nB\t-4\n"})
    judged = read_tree(str(tree), "de-en", reference="refA")
    np.testing.assert_array_equal(judged.system_scores, [-3, -5.5, NAN])
    assert caplog.messages == [
        "wmt99.de-en: the mqm scores of systems are not the means of those of the segments (they differ by up to 4) and may "
        "be of other segments; the means are taken"
    ]


def test_the_reference(tree, caplog):
    assert read_tree(str(tree), "de-en").references == [["a1", "a2", "a3"]]
    assert caplog.messages == ["wmt99.de-en: refA is the reference, of refA, refB"]
    assert len(read_tree(str(tree), "de-en", reference="refB,refA").references) == 2
    write(tree, {"references/liv-en.ALT.txt": "c1\nc2\nc3\n"})
    assert read_tree(str(tree), "liv-en").references == [["a1", "a2", "a3"]]  # refA, though ALT is the first by name
    with pytest.raises(InputError, match="no reference refC for de-en; there are refA, refB"):
        read_tree(str(tree), "de-en", reference="refC")
    caplog.clear()
    (tree / "references/de-en.refA.txt").unlink()
    assert read_tree(str(tree), "de-en").references == [["b1", "b2", "b3"]]
    assert not caplog.messages
    (tree / "references/de-en.refB.txt").unlink()
    assert list(read_tree(str(tree), "de-en").references) == []


def test_other_human_scores(tree):
    write(tree, {"human-scores/de-en.wmt-z.seg.score": "A\t0.5\nA\t1\nA\tNone\n"})
    assert human_names(str(tree), "de-en") == ["mqm", "wmt-z"]
    assert read_tree(str(tree), "de-en", "wmt-z", "refA").system_scores[0] == 0.75
    with pytest.raises(InputError, match="no human scores named da for de-en; there are mqm, wmt-z"):
        read_tree(str(tree), "de-en", "da")


def test_systems_without_an_output_are_said(tree, caplog):
    with open(tree / "human-scores/de-en.mqm.seg.score", "a") as file:
        file.write("C\t1\nC\t1\nC\t1\n")
    assert read_tree(str(tree), "de-en", reference="refA").systems == ["A", "B", "refB"]
    assert caplog.messages == ["wmt99.de-en: left out systems with mqm scores but no output (C)"]


def test_a_scored_reference_is_a_system(tree, caplog):
    """Even where its text is only among the references."""
    with open(tree / "human-scores/de-en.mqm.seg.score", "a") as file:
        file.write("refA\t1\nrefA\t2\nrefA\tNone\n")
    judged = read_tree(str(tree), "de-en", reference="refA")
    assert judged.systems == ["A", "B", "refA", "refB"] and not caplog.messages
    assert judged.hypotheses[2] == judged.references[0] and judged.segment_scores[2, :2].tolist() == [1, 2]


def test_documents_whose_id_returns_are_named_by_their_domain(tree):
    write(tree, {"documents/de-en.docs": "news\td1\nchat\td2\nchat\td1\n"})
    assert read_tree(str(tree), "de-en", reference="refA").doc_ids == ["news:d1", "chat:d2", "chat:d1"]
    write(tree, {"documents/de-en.docs": "news\td1\nchat\td2\nnews\td1\n"})
    with pytest.raises(InputError, match="de-en.docs, line 3: 'news:d1' returns"):
        read_tree(str(tree), "de-en", reference="refA")
    (tree / "documents/de-en.docs").unlink()
    assert read_tree(str(tree), "de-en", reference="refA").doc_ids is None


def test_packed_files(tmp_path):
    packed = write(tmp_path / "wmt99", {f"{name}.xz": text for name, text in of_pair().items()})
    judged = read_tree(str(packed), "de-en", reference="refA")
    assert tree_pairs(str(packed)) == ["de-en"] and judged.systems == ["A", "B", "refB"]
    assert judged.hypotheses[0] == ["x1", "x2", "x3"]


@pytest.mark.parametrize(
    "files, message",
    [
        ({"system-outputs/de-en/B.txt": "y1\n"}, "B.txt: 1 line for the 3 of .*sources/de-en.txt"),
        ({"documents/de-en.docs": "a\tb\n"}, "de-en.docs: 1 line for the 3 of "),
        ({"human-scores/de-en.mqm.sys.score": "A\t1\nA\t2\n"}, "mqm.sys.score: 2 scores of A, not 1"),
        ({"human-scores/de-en.mqm.seg.score": "A\t1\nA\tbad\nA\t1\n"}, "mqm.seg.score, line 2: 'bad' is not a score"),
    ],
)
def test_files_that_cannot_be_used(tree, files, message):
    with pytest.raises(InputError, match=message):
        read_tree(str(write(tree, files)), "de-en", reference="refA")


def test_texts_in_jsonl_are_said_to_be_unread(tree):
    for file in (tree / "system-outputs/de-en").iterdir():
        file.rename(file.with_suffix(".jsonl"))
    with pytest.raises(InputError, match="texts in .jsonl are not read: write them as .txt"):
        read_tree(str(tree), "de-en", reference="refA")
    (tree / "sources/de-en.txt").rename(tree / "sources/de-en.jsonl")
    with pytest.raises(InputError, match="no file de-en.txt there; texts in .jsonl"):
        read_tree(str(tree), "de-en", reference="refA")


def test_pairs_are_chosen(tree, caplog):
    assert [judged.name for judged in read_judged(str(tree), reference="refA")] == ["wmt99.de-en", "wmt99.liv-en"]
    assert [judged.name for judged in read_judged(str(tree), pairs=["liv-en"], reference="refA")] == ["wmt99.liv-en"]
    with pytest.raises(InputError, match="none of the pairs en-de; there are de-en, liv-en"):
        read_judged(str(tree), pairs=["en-de"])
    write(tree, {"human-scores/liv-en.da.seg.score": "A\t1\nA\t1\nA\t1\n"})
    assert [judged.name for judged in read_judged(str(tree), human="da", reference="refA")] == ["wmt99.liv-en"]
    assert caplog.messages == [f"{tree}: left out pairs without human scores named da (de-en)"]
    first = read_judged(str(tree), human=["da", "mqm"], reference="refA")
    assert [judged.human for judged in first] == ["mqm", "da"]
    with pytest.raises(InputError, match="no human scores named psqm for de-en; there are mqm"):
        read_judged(str(tree), human="psqm")


def test_a_pair_without_a_folder(tmp_path):
    write(tmp_path / "wmt99" / "de-en", of_pair())
    with pytest.raises(InputError, match="no folder human-scores of en-de; there are de-en"):
        read_tree(str(tmp_path / "wmt99"), "en-de")


@pytest.mark.slow
def test_wmt22(shared_data, tmp_path):
    with tarfile.open(shared_data / "wmt22_mqm" / "wmt22_mqm.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    sets = {judged.name: judged for judged in read_judged(str(tmp_path / "wmt22_mqm"))}
    assert {name: (len(each.systems), each.segments, len(set(each.doc_ids))) for name, each in sets.items()} == {
        "wmt22_mqm.en-de": (17, 2037, 181),
        "wmt22_mqm.en-ru": (17, 2037, 181),
        "wmt22_mqm.zh-en": (20, 1875, 256),
    }
    judged = sets["wmt22_mqm.zh-en"].without(["refA", "refB"])
    assert sum(~np.isnan(judged.system_scores)) == 14
    # the official score of a system is the mean of its segments'
    scored = ~np.isnan(judged.system_scores)
    np.testing.assert_allclose(judged.segment_scores[scored].mean(axis=1), judged.system_scores[scored])
