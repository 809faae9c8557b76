"""What reaches the metrics from files and test sets, and what is said when the two do not fit."""

import gzip
import json

import pytest
from plugin_conftest import DOCIDS, EXAMPLES, REF, SOURCE, A, B, add_test_set, add_toylen, lines_of, picks_from_xml
from plugin_conftest import fresh_sacrebleu as sacrebleu

DOC_IDS = lines_of(DOCIDS)
ORIGLANGS = ["de" if doc_id.startswith(("news", "talk")) else "en" for doc_id in DOC_IDS]
DOMAINS = [doc_id.split("-")[0] for doc_id in DOC_IDS]
GERMAN, ENGLISH = ([i for i in range(59) if ORIGLANGS[i] == lang] for lang in ("de", "en"))


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> str:
    """A folder of test sets as sacrebleu keeps them, in three formats, all with texts of the examples."""
    root = tmp_path_factory.mktemp("sets")
    texts = lines_of(SOURCE), lines_of(REF), DOC_IDS, ORIGLANGS
    add_test_set(root, "wmt21", "de-en", *texts)  # XML
    add_test_set(root, "wmt23", "de-en", *texts, DOMAINS)  # XML with domains
    add_test_set(root, "wmt22", "cs-en", *texts)  # XML, the pair's data are a dictionary
    add_test_set(root, "wmt18", "de-en", *texts)  # SGML
    add_test_set(root, "wmt08", "de-en", *texts)  # SGML, of which sacrebleu reads no document ids
    add_test_set(root, "mtnt2019", "fr-en", *texts)  # TSV: no document ids
    return str(root)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict:
    return add_toylen(tmp_path_factory.mktemp("toylen"))


@pytest.fixture
def toylen(installed, sets, tmp_path):
    """Runs the command with the metric toylen; gives it and what each of the metric's objects was made with."""

    def call(*args, **options):
        log = tmp_path / "log"
        done = sacrebleu(
            *args, "-m", "toylen", "-f", "text", **installed, TOYLEN_LOG=str(log), SACREBLEU=sets, **options
        )
        return done, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return call


@pytest.fixture
def fails(toylen):
    """Runs the command and gives its one line of error."""

    def call(*args, **options):
        done, _ = toylen(*args, **options)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.startswith("sacreBLEU: error: ") and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    return call


def column(texts: list, rows: list) -> list:
    return [texts[i] for i in rows]


# streams that do not fit; tests/bad_input.md has more

STDIN = "".join(f"{line}\n" for line in lines_of(A))
WMT21, WMT18 = (["-t", name, "-l", "de-en", "-i"] for name in ("wmt21", "wmt18"))


@pytest.mark.parametrize(
    "arguments, said",
    [
        # sacrebleu skips a system that was the baseline already, which must not shift the names
        ([REF, "-i", A, A, "{B}", "--paired-bs", "-q"], "{B} has 50 lines"),
        ([REF, "--source", "{SOURCE}"], "--source {SOURCE} has 50 lines, but the standard input has 59"),
        ([*WMT21, "{A}"], "{A} has 50 lines, but reference 1 of wmt21 has 59"),
        # sacrebleu's own picking would cut every stream to the shortest
        ([*WMT21, "{A}", "-ol", "de"], "{A} has 50 lines, but reference 1 of wmt21 has 59"),
        (
            [*WMT18, A, "-ol", "de", "--source", "{PICKED}"],
            f"--source {{PICKED}} has {len(GERMAN)} lines, but {A} has 59",
        ),
        (["-t", "wmt22", "-l", "cs-en", "-i", A, "-ol", "cs"], "from wmt22 cs-en"),
        (["-t", "mtnt2019", "-l", "fr-en", "-i", A, "-ol", "fr"], "from mtnt2019 fr-en"),
        (["-t", "wmt08", "-l", "de-en", "-i", A, "--subset", "talk"], "from wmt08 de-en"),
        ([REF, "-i", A, "-ol", "de"], "needs a test (-t)"),
    ],
)
def test_streams_that_do_not_fit(fails, tmp_path, arguments, said):
    short = {"A": (A, 50), "B": (B, 50), "SOURCE": (SOURCE, 50), "PICKED": (SOURCE, len(GERMAN))}
    paths = {key: tmp_path / key for key in short}
    for key, (name, lines) in short.items():
        paths[key].write_text("".join(f"{line}\n" for line in lines_of(name)[:lines]), encoding="utf-8")
    assert said.format(**paths) in fails(*(word.format(**paths) for word in arguments), stdin=STDIN)


def test_columns_of_the_standard_input_of_another_length(fails):
    said = fails(REF, stdin="one\ttwo\nthree\tfour\n")
    assert f"column 1 of the standard input has 2 lines, but {REF} has 59" in said


def test_a_carriage_return_on_the_standard_input_is_hinted_at(fails, tmp_path):
    (tmp_path / "ref").write_text("one two\nthree\n")
    (tmp_path / "hyp").write_bytes(b"one\rtwo\nthree\n")
    assert "a lone carriage return ends a line" in fails(tmp_path / "ref", stdin="one\rtwo\nthree\n")
    done = sacrebleu(tmp_path / "ref", "-i", tmp_path / "hyp", "-b")
    assert done.returncode == 0


def test_the_encoding_flag_holds_for_context_too(toylen, tmp_path):
    (tmp_path / "ref").write_bytes("café\n".encode("latin-1"))
    (tmp_path / "src").write_bytes("größer\n".encode("latin-1"))
    done, (made,) = toylen(tmp_path / "ref", "-i", tmp_path / "ref", "--source", tmp_path / "src", "-e", "latin-1")
    assert done.returncode == 0 and made["sources"] == ["größer"] and made["references"] == [["café"]]


def test_a_file_may_have_the_name_of_a_stream(installed, tmp_path):
    for name, text in {"ref": "a cat", "hyp": "a dog", "ids": "d", "doc_ids": "a dog", "other": "a dog"}.items():
        (tmp_path / name).write_text(f"{text}\n")
    metrics = ["-m", "prchrf", "toylen", "--pseudo-filter", "none", "--pseudo-guard", "off", "-b"]
    done = [
        sacrebleu("ref", "-i", "hyp", *metrics, "--docids", "ids", "--pseudo-refs", name, cwd=tmp_path, **installed)
        for name in ("doc_ids", "other")
    ]
    assert done[0].returncode == 0 and done[0].stdout == done[1].stdout, done[0].stderr


def test_context_may_be_compressed_and_have_a_byte_order_mark(toylen, tmp_path):
    with gzip.open(tmp_path / "src.gz", "wb") as file:
        file.write((EXAMPLES / SOURCE).read_bytes())
    (tmp_path / "ids").write_bytes(b"\xef\xbb\xbf" + (EXAMPLES / DOCIDS).read_bytes())
    done, (made,) = toylen(REF, "-i", A, "--source", tmp_path / "src.gz", "--docids", tmp_path / "ids")
    assert made["sources"] == lines_of(SOURCE) and made["doc_ids"] == DOC_IDS
    assert done.stderr == f"sacreBLEU: {tmp_path / 'ids'}: dropped the byte-order mark at its start\n"


def test_lines_end_where_sacrebleu_ends_them(toylen, tmp_path):
    text = "one\u2028two\x0cthree\x85four\n\n five \n"
    for name in ("ref", "hyp", "src"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "ids").write_text("a\u2028b\n c \nd\n", encoding="utf-8")
    _done, (made,) = toylen(
        tmp_path / "ref", "-i", tmp_path / "hyp", "--source", tmp_path / "src", "--docids", tmp_path / "ids"
    )
    assert made["sources"] == made["references"][0] == ["one\u2028two\x0cthree\x85four", "", " five"]
    assert made["doc_ids"] == ["a\u2028b", " c", "d"]


# test sets


@pytest.mark.parametrize(
    "name, pair, has_ids",
    [("wmt22", "cs-en", True), ("wmt18", "de-en", True), ("wmt08", "de-en", False), ("mtnt2019", "fr-en", False)],
)
def test_context_of_a_test_set(toylen, name, pair, has_ids):
    done, (made,) = toylen("-t", name, "-l", pair, "-i", A)
    assert done.returncode == 0, done.stderr
    assert made["sources"] == lines_of(SOURCE) and made["references"] == [lines_of(REF)]
    assert made["doc_ids"] == (DOC_IDS if has_ids else None)
    assert (made["source_lang"], made["target_lang"]) == tuple(pair.split("-"))


def test_flags_go_before_the_test_set(toylen, tmp_path):
    (tmp_path / "src").write_text("".join(f"line {i}\n" for i in range(59)))
    _done, (made,) = toylen("-t", "wmt21", "-l", "de-en", "-i", A, "--source", tmp_path / "src")
    assert made["sources"][58] == "line 58" and made["doc_ids"] == DOC_IDS


def twice(name: str, tmp_path) -> str:
    path = tmp_path / f"twice_{name}"
    path.write_text((EXAMPLES / name).read_text(encoding="utf-8") * 2, encoding="utf-8")
    return str(path)


def test_two_test_sets_have_prefixed_document_ids(toylen, tmp_path):
    done, (made,) = toylen("-t", "wmt21,wmt18", "-l", "de-en", "-i", twice(A, tmp_path))
    assert done.returncode == 0, done.stderr
    assert made["sources"] == lines_of(SOURCE) * 2
    assert made["doc_ids"] == [f"{name}/{doc_id}" for name in ("wmt21", "wmt18") for doc_id in DOC_IDS]


def test_document_ids_that_only_one_of_two_test_sets_has_are_none(toylen, tmp_path):
    _, (made,) = toylen("-t", "wmt08,wmt18", "-l", "de-en", "-i", twice(A, tmp_path))
    assert made["doc_ids"] is None and made["sources"] == lines_of(SOURCE) * 2


@pytest.mark.parametrize(
    "name, origlang, rows", [pytest.param("wmt21", "de", GERMAN, marks=picks_from_xml), ("wmt18", "non-de", ENGLISH)]
)
def test_origlang_picks_the_rows_of_the_context(toylen, name, origlang, rows):
    done, (made,) = toylen("-t", name, "-l", "de-en", "-i", A, B, "-ol", origlang)
    assert done.returncode == 0, done.stderr
    assert made["sources"] == column(lines_of(SOURCE), rows) and made["doc_ids"] == column(DOC_IDS, rows)
    assert made["references"] == [column(lines_of(REF), rows)]
    assert made["systems"] == [column(lines_of(name), rows) for name in (A, B)]


@picks_from_xml
def test_subset_picks_the_rows_of_the_context(toylen):
    rows = [i for i, domain in enumerate(DOMAINS) if domain == "talk"]
    _done, (made,) = toylen("-t", "wmt23", "-l", "de-en", "-i", A, "--subset", "talk", "--source", SOURCE)
    assert made["sources"] == column(lines_of(SOURCE), rows) and set(made["doc_ids"]) == {"talk-bees"}
    assert made["systems"] == [column(lines_of(A), rows)]


@picks_from_xml
def test_picked_rows_at_sentence_level(toylen):
    done, made = toylen("-t", "wmt23", "-l", "de-en", "-i", A, "--subset", "talk", "-sl", "-b")
    words = [(len(h.split()), len(s.split())) for h, s in zip(lines_of(A), lines_of(SOURCE))][13:22]
    assert done.stdout.split() == [f"{100 * hypothesis / source:.1f}" for hypothesis, source in words]
    assert len(made) == 1


def parts_of(done) -> dict[str, str]:
    """What --detail prints of each part of a test set, by its original language and domain."""
    assert done.returncode == 0, done.stderr
    parts = [line.partition(":") for line in done.stdout.splitlines() if line.startswith("origlang=")]
    return {name.replace("domain=ALL", "").strip(): line for name, _, line in parts}


def is_score_of(rows: list[int], line: str) -> bool:
    hypotheses, sources = (sum(len(lines_of(name)[i].split()) for i in rows) for name in (A, SOURCE))
    score = pytest.approx(100 * hypotheses / sources, abs=0.06)
    return f"sentences={len(rows)} " in line and float(line.split("=")[-1]) == score


@pytest.mark.parametrize(
    "arguments, names", [([], {"de": GERMAN, "en": ENGLISH}), (["-ol", "en"], {"en": ENGLISH})], ids=["all", "-ol en"]
)
def test_detail(toylen, arguments, names):
    done, made = toylen(*WMT18, A, "--detail", *arguments)
    printed = parts_of(done)
    assert list(printed) == [f"origlang={name}" for name in sorted(names)]
    assert all(is_score_of(rows, printed[f"origlang={name}"]) for name, rows in names.items())
    assert all(column(DOC_IDS, rows) in [seen["doc_ids"] for seen in made] for rows in names.values())


@picks_from_xml
def test_detail_of_domains(toylen):
    done, made = toylen("-t", "wmt23", "-l", "de-en", "-i", A, "--detail")
    news = [i for i, domain in enumerate(DOMAINS) if domain == "news"]
    for name, rows in (("de", GERMAN), ("en", ENGLISH), ("de domain=news", news)):
        assert is_score_of(rows, parts_of(done)[f"origlang={name}"])
    [seen] = [seen for seen in made if seen["doc_ids"] == column(DOC_IDS, news)]
    assert (seen["sources"], seen["systems"]) == (lines_of(SOURCE)[:13], [lines_of(A)[:13]])


def test_an_origlang_that_no_document_has(toylen):
    done, made = toylen("-t", "wmt18", "-l", "de-en", "-i", A, "-ol", "xx")
    assert done.returncode == 1 and "contains no sentence" in done.stderr and not made
    assert "Traceback" not in done.stderr


def test_echo_is_as_in_stock(sets):
    arguments = ["-t", "wmt18", "-l", "de-en", "-ol", "de", "--echo", "src", "docid"]
    ours = sacrebleu(*arguments, SACREBLEU=sets)
    stock = sacrebleu(*arguments, SACREBLEU=sets, CTX_METRICS_NO_AUTOLOAD="1")
    assert ours.stdout == stock.stdout == "".join(f"{lines_of(SOURCE)[i]}\t{DOC_IDS[i]}\n" for i in GERMAN)
