"""Hypotheses whose lines do not match, in each form in which they are read."""

import gzip
import json

import pytest

from ctx_metrics.align.folders import read_streams
from ctx_metrics.align.inputs import parts_of, read_documents
from ctx_metrics.corpus import named
from ctx_metrics.errors import InputError
from ctx_metrics.notices import collected
from ctx_metrics.run.texts import Texts

IDS = ["news/a", "b", "b"]
PARTS = parts_of(IDS, 3)
TEXTS = ["One.\nTwo.", "Three. Four."]


def read(path, parts=PARTS, languages=(None, None)):
    return read_documents(str(path), "utf-8", parts, languages)


def objects(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def fault(path, **more) -> str:
    with pytest.raises(InputError) as error:
        read(path, **more)
    return str(error.value).replace(str(path), "PATH")


def test_documents_are_runs_of_equal_ids():
    assert [tuple(part) for part in PARTS] == [("news/a", 0, 1), ("b", 1, 3)]
    assert [tuple(part) for part in parts_of(None, 3)] == [("", 0, 3)]


def test_a_folder_has_one_file_per_document(tmp_path):
    """Whose path may have other names for slashes."""
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "a.txt").write_text("One.\nTwo.")
    (tmp_path / "b.md").write_text("Three. Four.")
    (tmp_path / ".hidden").write_text("no document")
    assert read(tmp_path) == (PARTS, TEXTS)
    (tmp_path / "news" / "a.txt").unlink()
    with gzip.open(tmp_path / "news_a.txt.gz", "wt") as file:
        file.write("One.\nTwo.")
    assert read(tmp_path) == (PARTS, TEXTS)


def test_files_that_are_no_documents_are_named(tmp_path):
    for name in ("news_a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("text")
    with collected() as notices:
        read(tmp_path)
    assert [str(each).partition(": ")[2] for each in notices] == [
        "1 file matches none of the document ids; left out: c.txt"
    ]


def test_a_folder_has_a_document_twice(tmp_path):
    for name in ("b.txt", "b.md"):
        (tmp_path / name).write_text("text")
    assert fault(tmp_path) == "PATH: b.md and b.txt are both document 'b'; leave one out"


@pytest.mark.parametrize("form", ["{}.de.txt", "{}_de_DE.txt", "{}.deu", "{}-en.txt.gz"])
def test_a_files_name_may_name_the_language(tmp_path, form):
    for name, text in zip(("doc-1", "doc-2"), TEXTS):
        (gzip.open if form.endswith("gz") else open)(tmp_path / form.format(name), "wt").write(text)
    assert read(tmp_path, parts_of(["doc-1", "doc-2"], 2), ("en", "de"))[1] == TEXTS
    assert read(tmp_path, parts_of(["doc-1.en", "doc-2.en"], 2), ("en", "de"))[1] == TEXTS
    assert "has no file of document 'doc-1'" in fault(tmp_path, parts=parts_of(["doc-1", "doc-2"], 2))


def test_numbers_behind_languages_are_parts_of_names(tmp_path):
    for name, text in zip(("talk-de-01", "talk_de_2"), TEXTS):
        (tmp_path / f"{name}.txt").write_text(text)
    assert read(tmp_path, parts_of(["talk-de-01", "talk_de_2"], 2), ("en", "de"))[1] == TEXTS


def test_marks_at_the_start_of_files_are_counted(tmp_path):
    for name, text in zip(("news_a.txt", "b.txt"), TEXTS):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    with collected() as notices:
        assert read(tmp_path)[1] == TEXTS
    assert [str(each).rpartition(": ")[2] for each in notices] == [
        "dropped the byte-order mark at the start of 2 files"
    ]


def streams(data, doc_ids=None, **roles):
    beside = Texts(doc_ids=doc_ids, source_lang="en", target_lang="de")
    paths = {role: [str(data / name) for name in names] for role, names in roles.items()}
    return read_streams(paths, "utf-8", beside)


@pytest.fixture
def test_set(tmp_path):
    for folder, language in (("src", "en"), ("ref", "de")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"b.{language}.txt").write_text(f"{folder} 1\r\n\r\n{folder} 2\r\n")
        (tmp_path / folder / f"a.{language}.txt").write_text(f"{folder} 3\n")
    (tmp_path / "more.txt").write_text("more 3\nmore 1\nmore 2\n")
    return tmp_path


def test_sources_and_references_in_folders(test_set):
    with collected() as notices:
        found = streams(test_set, src=["src"], ref=["ref", "more.txt"])
    order = f"{test_set}/more.txt: read in the order of the files of {test_set}/src (a, b); if its order is different, "
    assert [str(each) for each in notices] == [f"{order}give --docids"]
    assert found == {
        "src": [["src 3", "src 1", "src 2"]],
        "ref": [["ref 3", "ref 1", "ref 2"], ["more 3", "more 1", "more 2"]],
        "doc": [["a", "b", "b"]],
    }
    assert streams(test_set, ["b", "b", "a"], ref=["ref"]) == {
        "ref": [["ref 1", "ref 2", "ref 3"]],
        "doc": [["b", "b", "a"]],
    }
    for doc_ids in (["b", "b", "a"], None):
        assert streams(test_set, doc_ids, ref=["more.txt"]) == {"ref": [["more 3", "more 1", "more 2"]]}


def test_files_beside_folders_are_in_the_order_of_these(test_set):
    files = [named(["more 3", "more 1", "more 2"], "more.txt")]
    for beside in (Texts(references=files), Texts(sources=files[0])):
        with collected() as notices:
            read_streams({"src" if beside.references else "ref": [str(test_set / "src")]}, "utf-8", beside)
        assert str(notices[0]).startswith("more.txt: read in the order of the files of")


@pytest.mark.parametrize(
    "name, text, message",
    [
        (
            "a.de.txt",
            "ref 3\nref 4\n",
            "ref: document 'a' has 2 lines with text, but 1 in src; give the same segments, ",
        ),
        ("a.de.txt", "\n", "ref/a.de.txt is empty; it must hold one segment per line"),
        ("a.de.txt", None, "ref has no file of document 'a'; sources and references need all documents"),
        ("a.en.txt", "more", "ref: a.de.txt and a.en.txt are both document 'a'; leave one out"),
        (
            "c.txt",
            "more",
            "src has no file of the same document as ref/c.txt (if the names end in languages, -l must give these); sources ",
        ),
    ],
)
def test_bad_folders_of_references(test_set, name, text, message):
    path = test_set / "ref" / name
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(InputError) as error:
        streams(test_set, src=["src"], ref=["ref"])
    assert str(error.value).replace(f"{test_set}/", "").startswith(message)


def test_json_lines_are_in_any_order(tmp_path):
    rows = [{"doc_id": "b", "hypothesis": None}, {"doc_id": "news/a", "hypothesis": TEXTS[0], "more": 1}]
    assert read(objects(tmp_path / "h.jsonl", *rows)) == (PARTS, [TEXTS[0], ""])


def test_json_lines_of_other_languages_are_left_out(tmp_path):
    rows = [
        {"doc_id": name, "hypothesis": text, "src_lang": "en", "tgt_lang": language}
        for name, text in zip(("news/a", "b"), TEXTS, strict=True)
        for language in ("cs_CZ", "de_DE")
    ]
    with collected() as notices:
        assert read(objects(tmp_path / "h.jsonl", *rows), languages=("en", "cs"))[1] == TEXTS
    assert [str(each).rpartition("h.jsonl: ")[2] for each in notices] == [
        "2 lines are in a language pair other than -l; left out"
    ]


@pytest.mark.parametrize(
    "rows, message",
    [
        ([{"doc_id": "b"}], "PATH, line 1: hypothesis is missing; each line needs doc_id and hypothesis"),
        ([["b", ""]], "PATH, line 1: not an object with doc_id and hypothesis"),
        (
            [{"doc_id": "b", "hypothesis": "It rained \ud83d."}],
            "PATH, line 1: hypothesis holds half of a surrogate pair (\\ud800 to \\udfff), which is not text",
        ),
    ],
)
def test_bad_json_lines(tmp_path, rows, message):
    assert fault(objects(tmp_path / "h.jsonl", *rows)) == message


@pytest.mark.parametrize(
    "text, ids, texts, said",
    [
        ("\nOne.\nTwo.\n\n \nThree. Four.\n\n", IDS, TEXTS, ""),  # blank lines separate documents
        ('{user} said "Hello."\n\nOne.\nTwo.', IDS, ['{user} said "Hello."', "One.\nTwo."], ""),  # no JSON
        ("One.\n\n\n\nTwo.\nThree.\n", "abc", ["One.", "", "Two.\nThree."], ""),
        ("One.\n\nTwo.\n", None, ["One.\n\nTwo."], ""),
        ("One.\nTwo. Three.\nFour.\nFive.\n", IDS, ["One.\nTwo. Three.\nFour.\nFive."], "between its 2 documents"),
        # as many lines as segments
        ("One.\n\nThree.\n", "aab", ["One.", "Three."], "the blocks are used. If blank lines are empty outputs"),
        ("One.\n\n\n", "aab", ["One.", ""], ""),
        ("One.\n\nTwo.\n\nThree.\n", "aaabb", ["One.\n\nTwo.", "\nThree."], "2 empty lines are empty outputs"),
    ],
)
def test_which_lines_are_a_document(tmp_path, text, ids, texts, said):
    path = tmp_path / "h.txt"
    path.write_text(text)
    segments = 3 if ids is None else len(ids)
    with collected() as notices:
        parts, found = read(path, parts_of(ids and [*ids], segments))
    assert found == texts and len(parts) == len(texts) and parts[-1].end == segments
    assert said in str(notices[0]) if said else not notices


@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.txt"])
@pytest.mark.parametrize("whole", [False, True])
def test_objects_need_the_name_of_json_lines(tmp_path, name, whole):
    rows = [{"doc_id": each, "hypothesis": "One."} for each in ("news/a", "b")]
    path = tmp_path / name
    path.write_text(json.dumps(rows, indent=1) if whole else "\n".join(map(json.dumps, rows)))
    assert fault(path).startswith("PATH holds JSON objects; write one per line")
