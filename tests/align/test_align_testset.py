"""Test sets as JSON lines of WMT25, and what is made of them."""

import json

import pytest
from cli_conftest import ctx, error  # noqa: F401  ctx is a fixture

from ctx_metrics.align.testset import read_test_set
from ctx_metrics.errors import InputError
from ctx_metrics.notices import collected

TEXTS = {
    "a": (["Ich kam spät.", "Es regnete."], ["I came late.", "It was raining."], "I came late. It\nwas raining."),
    "b": (["Niemand sah uns."], ["Nobody saw us."], "Nobody saw us."),
}
ROWS = [
    {
        "doc_id": name,
        "src_lang": "de",
        "tgt_lang": "en_US",
        "src_text": "\n\n".join(sources),
        "refs": {"refA": {"ref": "\n \n".join(references)}},
    }
    for name, (sources, references, _) in TEXTS.items()
]
OTHER = {"doc_id": "c", "src_lang": "de", "tgt_lang": "cs_CZ", "src_text": "Ja.", "refs": {}}


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path, rows):
    return read_test_set(str(written(path / "set.jsonl", rows)), "utf-8", ("de", "en"))


def test_paragraphs_are_segments(tmp_path):
    found = read(tmp_path, [*ROWS, OTHER])
    assert found.sources == ["Ich kam spät.", "Es regnete.", "Niemand sah uns."]
    assert found.references == [["I came late.", "It was raining.", "Nobody saw us."]]
    assert (found.doc_ids, found.names) == (["a", "a", "b"], ["refA"])


def test_a_document_with_other_paragraphs_in_a_reference_is_one_segment(tmp_path):
    uneven = {**ROWS[0], "refs": {"refA": "I came late. It was raining."}}
    with collected() as notices:
        found = read(tmp_path, [uneven, ROWS[1]])
    assert found.sources == ["Ich kam spät. Es regnete.", "Niemand sah uns."]
    assert found.references == [["I came late. It was raining.", "Nobody saw us."]]
    assert "1 document has different paragraphs in source and reference; each is one segment: a" in str(notices[0])


def test_paragraphs_of_html_are_segments(tmp_path):
    """As at WMT26, whose languages have codes of three letters and scripts."""
    row = {
        "doc_id": "a",
        "src_lang": "deu_Latn",
        "tgt_lang": "eng_Latn",
        "src_text": "<p>Ja.<br>Nein.</p>\n<p>Gut.</p>",
        "refs": {"refA": {"ref": "<p>Yes.<br>\nNo.</p> <p>Good.</p>"}},
    }
    found = read(tmp_path, [row])
    assert found.sources == ["<p>Ja.<br>Nein.</p>", "<p>Gut.</p>"]
    assert found.references == [["<p>Yes.<br> No.</p>", "<p>Good.</p>"]]


@pytest.mark.parametrize(
    "references, kinds",
    [
        ({"refA": {"ref": "Yes."}}, []),
        (
            {"refA": {"ref": "Yes.", "type": "postedit"}, "refB": {"ref": "Yes.", "type": "human"}},
            ["post-edited", "human"],
        ),
        ({"PseudoRef": "Yes."}, ["synthetic"]),
    ],
)
def test_how_references_were_made(tmp_path, references, kinds):
    assert [*read(tmp_path, [{"doc_id": "a", "src_text": "Ja.", "refs": references}]).kinds] == kinds


def test_one_script_of_a_language_is_chosen(tmp_path):
    rows = [{**ROWS[1], "doc_id": name, "tgt_lang": f"sr_{name}_RS"} for name in ("Cyrl", "Latn")]
    path = written(tmp_path / "set.jsonl", rows)
    assert read_test_set(str(path), "utf-8", ("de", "sr-Latn")).doc_ids == ["Latn"]
    with pytest.raises(InputError, match="has documents in sr_Cyrl_RS and in sr_Latn_RS; name one of them with -l"):
        read_test_set(str(path), "utf-8", ("de", "sr"))
    written(path, [{**row, "doc_id": "a"} for row in rows])
    with pytest.raises(InputError, match="document 'a' appeared before, in sr_Cyrl_RS and in sr_Latn_RS; name one"):
        read_test_set(str(path), "utf-8", ("de", "sr"))


def test_references_are_in_any_order(tmp_path):
    both = [{"refA": "Yes.", "refB": "Yeah."}, {"refB": "No way.", "refA": "No."}]
    rows = [{"doc_id": name, "src_text": "Ja.", "refs": refs} for name, refs in zip("ab", both, strict=True)]
    found = read(tmp_path, rows)
    assert (found.names, found.references) == (["refA", "refB"], [["Yes.", "No."], ["Yeah.", "No way."]])


@pytest.mark.parametrize(
    "rows, message",
    [
        ([OTHER], "PATH has no document of the language pair; check the file and -l"),
        ([ROWS[0], ROWS[0]], "PATH, line 2: document 'a' appeared before; leave one out"),
        ([{"doc_id": "a"}], "PATH, line 1: src_text is missing; each line needs doc_id and src_text, as text"),
        (
            [{**ROWS[0], "src_text": "Ja \ud83d."}],
            "PATH, line 1: src_text holds half of a surrogate pair (\\ud800 to \\udfff), which is not text",
        ),
        ([ROWS[0], {**ROWS[1], "refs": {}}], "PATH, line 2 has no references, but earlier lines have refA"),
        (
            [{**ROWS[0], "refs": ["I came late."]}],
            'PATH, line 1: refs is not an object, such as {"refA": {"ref": "..."}}',
        ),
        (
            [{**ROWS[0], "refs": {"refA": {}}}],
            "PATH, line 1: the reference refA has no text; leave it out of all lines",
        ),
    ],
)
def test_bad_test_sets(tmp_path, rows, message):
    with pytest.raises(InputError) as raised:
        read(tmp_path, rows)
    assert str(raised.value).replace(str(tmp_path / "set.jsonl"), "PATH") == message


@pytest.fixture
def files(tmp_path):
    written(tmp_path / "set.jsonl", [OTHER, *ROWS])
    rows = [{"doc_id": name, "tgt_lang": "en_US", "hypothesis": text} for name, (*_, text) in TEXTS.items()]
    written(tmp_path / "mine.jsonl", [*reversed(rows), {"doc_id": "c", "tgt_lang": "cs_CZ", "hypothesis": "Ano."}])
    return tmp_path


def test_from_the_files_of_a_shared_task_to_scores(ctx, files):
    done = ctx(
        *("score", "-t", files / "mine.jsonl", "--align", "--align-set", files / "set.jsonl", "-l", "de-en"),
        *("-m", "chrf", "--level", "segment", "document", "system", "--format", "tsv", "-q"),
    )
    assert done.code == 0, done.err
    assert [(row["level"], row["document"], float(row["score"])) for row in done.rows()] == [
        *(("segment", name, 100.0) for name in "aab"),
        ("document", "a", 100.0),
        ("document", "b", 100.0),
        ("system", "", 100.0),
    ]


def test_signatures_name_the_kind_of_references(ctx, files):
    rows = [{**row, "refs": {"refA": {**row["refs"]["refA"], "type": "pseudo"}}} for row in ROWS]
    written(files / "set.jsonl", rows)
    common = ("score", "-t", files / "mine.jsonl", "--align", "--align-set", files / "set.jsonl", "-l", "de-en")
    done = ctx(*common, "-m", "chrf", "bleu", "-q")
    assert done.code == 0 and done.out.count("|refs:synthetic|align:v1-") == 2, done.err
    assert "|refs:post-edited|" in ctx(*common, "-m", "chrf", "-q", "--kind-of-references", "post-edited").out


def test_a_tree_of_the_test_set_and_its_outputs(ctx, files):
    done = ctx("align", files / "mine.jsonl", "--set", files / "set.jsonl", "-l", "de-en", "-o", files / "tree")
    assert done.code == 0, done.err
    found = {
        path.relative_to(files / "tree").as_posix(): path.read_text(encoding="utf-8")
        for path in (files / "tree").rglob("*.*")
    }
    assert found.pop("system-outputs/de-en/mine.jsonl")
    assert found == {
        "sources/de-en.txt": "Ich kam spät.\nEs regnete.\nNiemand sah uns.\n",
        "references/de-en.refA.txt": "I came late.\nIt was raining.\nNobody saw us.\n",
        "documents/de-en.docs": "all\ta\nall\ta\nall\tb\n",
        "system-outputs/de-en/mine.txt": "I came late.\nIt was raining.\nNobody saw us.\n",
    }


def test_a_test_set_is_not_given_twice(ctx, files):
    common = ("-t", files / "mine.jsonl", "-l", "de-en", "-m", "chrf", "--align-set", files / "set.jsonl")
    assert error(ctx("score", *common)) == "--align-set works only with --align; give both, or leave it out"
    assert error(ctx("score", *common, "--align", "-r", "ref.en.txt")) == (
        "--align-set has source, references and document ids; leave out -s, -r and --docids"
    )
