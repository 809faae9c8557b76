"""Candidates in every layout, and what cannot be read of them."""

import gzip
import json

import pytest

from ctx_metrics import InputError
from ctx_metrics.choice.candidates import Item, read_items, say_duplicates


def write(folder, name: str, *lines: str) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


def test_lines(tmp_path):
    path = write(tmp_path, "c.txt", "a", "b", "c", "d")
    sources = write(tmp_path, "s.txt", "x", "y")
    assert read_items([path], number=2) == [Item(("a", "b")), Item(("c", "d"))]
    assert read_items([path], sources=sources) == [Item(("a", "b"), None, "x"), Item(("c", "d"), None, "y")]


def test_several_files(tmp_path):
    paths = [write(tmp_path, name, f"{name}1", f"{name}2") for name in "ab"]
    assert read_items(paths) == [Item(("a1", "b1")), Item(("a2", "b2"))]


def test_nbest_lists(tmp_path):
    """Of Marian, with features; of others, without; sources that count from 1; a score that is not a number is none."""
    path = write(
        tmp_path, "n", "0 ||| a b ||| F0= -3.2 ||| -0.53", "0 ||| c ||| F0= -4 ||| -1e-1", "1 |||  ||| ||| -inf"
    )
    assert read_items([path]) == [Item(("a b", "c"), (-0.53, -0.1)), Item(("",), (float("-inf"),))]
    assert read_items([write(tmp_path, "m", "1 ||| a", "1 ||| b", "2 ||| c")]) == [Item(("a", "b")), Item(("c",))]
    assert read_items([write(tmp_path, "o", "0 ||| a ||| x= 1 ||| ?", "0 ||| b ||| 2")]) == [Item(("a", "b"))]


def test_long_numbers_of_nbest_lists(tmp_path):
    """A number that no float holds is infinite, and digits that are no number end in no time."""
    path = write(tmp_path, "n", f"0 ||| a ||| {'9' * 400}", f"0 ||| b ||| {'9' * 50_000}x", "1 ||| c ||| 1.5")
    assert read_items([path]) == [Item(("a", "b")), Item(("c",), (1.5,))]
    assert read_items([write(tmp_path, "m", f"0 ||| a ||| -{'9' * 400}")]) == [Item(("a",), (float("-inf"),))]


FAIRSEQ = """\
2024-01-01 10:00:00 | INFO | fairseq_cli.generate | loading model(s) from model.pt
S-1\twir gehen .
T-1\twe go .
H-1\t-0.35\twe go .
D-1\t-0.35\twe go.
P-1\t-0.1 -0.2
H-1\t-0.65\t
D-1\t-0.65\t
P-1\t-0.65
S-0\tes regnet .
H-0\t-0.25\tit rains .
D-0\t-0.25\tit rains.
Generate test with beam=2: BLEU4 = 30.00
""".splitlines()


def test_the_output_of_fairseq(tmp_path, caplog):
    """It is recognised behind a log, sorted, and its detokenized hypotheses are taken; a file's sources go before its own."""
    path, sources = write(tmp_path, "generate.txt", *FAIRSEQ), write(tmp_path, "s", "Es regnet.", "Wir gehen.")
    assert read_items([path]) == [
        Item(("it rains.",), (-0.25,), "es regnet ."),
        Item(("we go.", ""), (-0.35, -0.65), "wir gehen ."),
    ]
    assert caplog.messages == [f"{path}: skipped 2 lines of fairseq's log"]
    assert [item.source for item in read_items([path], sources=sources)] == ["Es regnet.", "Wir gehen."]
    assert read_items([sources], number=1, references=path)[1].references == ("we go.", "")
    caplog.clear()
    tokenized = write(tmp_path, "h", *(line for line in FAIRSEQ if line[:2] in ("H-", "P-")))
    assert read_items([tokenized]) == [Item(("it rains .",), (-0.25,)), Item(("we go .", ""), (-0.35, -0.65))]
    assert caplog.messages == [
        f"{tokenized}: it has no D- lines, so the hypotheses are those of H-, which are tokenized"
    ]
    assert read_items([write(tmp_path, "d", "D-0\t-1\ta")]) == [Item(("a",), (-1.0,))]


@pytest.mark.parametrize(
    ("left_out", "more", "said"),
    [
        (["D-1\t-0.65"], "", "g: source 1 has 2 H- lines, but 1 D-; the file is cut short or mixed"),
        (["S-0"], "", "g: source 0 has no S- line, but others have one"),
        ([], "S-0\tein Haus", "g, line 14: the text of source 0 differs from an earlier one"),
        ([], "H-0\ta house", "g, line 14: 'a house' is not a score"),
        (["H-", "D-"], "", "g: no lines are hypotheses of fairseq's output (H- or D-)"),
        ([], f"H-{'9' * 18}\t-1\ta", "g: source 2 has no D- lines"),
    ],
)
def test_output_of_fairseq_that_cannot_be_read(tmp_path, monkeypatch, left_out, more, said):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "g", *(line for line in FAIRSEQ if not line.startswith(tuple(left_out))), *[more][: bool(more)])
    with pytest.raises(InputError) as caught:
        read_items(["g"], form="fairseq")
    assert said in str(caught.value)


def test_tables_and_json(tmp_path):
    table = str(tmp_path / "c.tsv.gz")
    with gzip.open(table, "wt") as file:
        file.write("a\tb\t\nc\n")
    assert read_items([table]) == [Item(("a", "b")), Item(("c",))]
    first = {"src": "x", "candidates": ["a", "a"], "scores": [1, 2.5], "references": ["r"], "more": 1}
    path = write(tmp_path, "c.jsonl", json.dumps(first), '{"src": "y", "candidates": ["b"], "scores": [null]}')
    assert read_items([path]) == [Item(("a", "a"), (1.0, 2.5), "x", ("r",)), Item(("b",), None, "y")]


def test_pseudo_references_of_their_own(tmp_path):
    path = write(tmp_path, "c.txt", "a", "b")
    references = write(tmp_path, "r.txt", "p", "q", "r", "s")
    assert read_items([path], number=1, references=references) == [
        Item(("a",), references=("p", "q")),
        Item(("b",), references=("r", "s")),
    ]


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("c", ["0 ||| a", "1 ||| b", "0 ||| c"], "line 3: source 0 returns after source 1"),
        ("c", ["7 ||| a"], "line 1: the first source is 7"),
        ("c.tsv", ["a\tb", "\t"], "line 2: no candidates"),
        ("c", ["0 ||| a", "9" * 5000 + " ||| b"], "line 2: its source has a number of 5,000 digits"),
        ("c.jsonl", ["[" * 100_000], "line 1: not JSON (it is nested too deeply)"),
        ("c.jsonl", [f'{{"candidates": ["a"], "scores": [{"9" * 400}]}}'], "line 1: scores holds a number that is too"),
        ("c.jsonl", ["[1]"], "line 1: not an object with candidates"),
        ("c.jsonl", ['{"candidates": ["a", 1]}'], "line 1: candidates is not a list of texts"),
        ("c.jsonl", ['{"candidates": ["\\ud800"]}'], "line 1: candidates hold a lone surrogate"),
        ("c.jsonl", ['{"candidates": ["a"], "scores": "x"}'], "line 1: scores is not a list of numbers"),
        ("c.jsonl", ['{"candidates": ["a"], "scores": [1, 2]}'], "line 1: 2 scores for 1 candidate"),
        ("c.jsonl", ['{"candidates": ["a"], "src": 1}'], "line 1: src is not text"),
        ("c.jsonl", ['{"candidates": ["a"], "references": []}'], "line 1: no references"),
        ("c.jsonl", ['{"candidates": ["a"], "src": "x"}', '{"candidates": ["a"]}'], "line 2: no src"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, lines, said):
    with pytest.raises(InputError) as caught:
        read_items([write(tmp_path, name, *lines)])
    assert f"{name}, {said}" in str(caught.value)


def test_files_that_do_not_go_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a", "1", "2")
    write(tmp_path, "b", "1")
    write(tmp_path, "e")
    for paths, given, said in (
        (["a", "e"], {}, "e is empty"),
        (["a", "b"], {"number": 2}, "-n is for one file"),
        (["a", "b"], {"form": "nbest"}, "--input-format nbest is for one file"),
    ):
        with pytest.raises(InputError, match=said):
            read_items(paths, **given)


def test_duplicates_and_lone_candidates_are_said(caplog):
    say_duplicates([Item(("a", "a", "b")), Item(("c",))])
    assert caplog.messages == [
        "1 of 4 candidates repeat another candidate of the same source; each text is scored once",
        "1 source has only one candidate, which is chosen",
    ]
