"""What `ctx-metrics score` reads: files, columns of the standard input, test sets; and what it says of bad ones."""

import os

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import DOCIDS, NAME_A, NAME_B, REF, SOURCE, A, B, C, add_test_set, fresh_ctx_metrics, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu

from ctx_metrics.errors import InputError
from ctx_metrics.system_names import system_names

TSV = ["--format", "tsv", "--only-system"]


def columns(*streams) -> bytes:
    return "".join("\t".join(row) + "\n" for row in zip(*streams)).encode()


@pytest.fixture
def score(ctx):
    """The system scores of a run with chrF, by system."""

    def call(*argv, stdin=b""):
        done = ctx("score", "-m", "chrf", *TSV, *argv, stdin=stdin)
        assert done.code == 0, done.err
        return {row["system"]: row["score"] for row in done.rows()}

    return call


@pytest.fixture
def expected(score) -> dict[str, str]:
    return score("-t", A, B, "-r", REF)


def test_columns_of_the_standard_input(score, expected):
    a, b, ref, source, ids = map(lines_of, (A, B, REF, SOURCE, DOCIDS))
    of_a, of_b = expected[NAME_A], expected[NAME_B]
    assert of_a != of_b
    assert score(stdin=columns(source, a, ref)) == {"stdin": of_a}
    assert score("-t", "-", stdin=columns(source, a, ref)) == {"stdin": of_a}
    assert score("-r", REF, stdin=columns(a)) == {"stdin": of_a}
    assert score("-r", REF, stdin=columns(source, a)) == {"stdin": of_a}
    assert score("-s", SOURCE, stdin=columns(a, ref)) == {"stdin": of_a}
    assert score("--columns", "ref,mt", stdin=columns(ref, a)) == {"stdin": of_a}
    assert score("--columns", "ref", "mt", stdin=columns(ref, a)) == {"stdin": of_a}
    several = columns(ids, ref, a, b)
    assert score("--columns", "doc,ref,mt:first,mt:second", stdin=several) == {"first": of_a, "second": of_b}


def test_several_references_in_columns_are_several_references(score):
    of_files = score("-t", A, "-r", REF, B)
    of_columns = score("--columns", "mt,ref,ref", stdin=columns(*map(lines_of, (A, REF, B))))
    assert list(of_columns.values()) == list(of_files.values())
    assert of_files != score("-t", A, "-r", REF)


def test_lines_of_the_standard_input_end_at_line_feeds_only(ctx):
    text = "ein\rs\ta\u2028b\tone\r\nzwei\tc\ttwo".encode()
    done = ctx("score", "-m", "chrf", "--format", "tsv", stdin=text)
    assert [row["segment"] for row in done.rows()] == ["1", "2", ""], done.err


def test_an_empty_last_column_is_a_column(ctx):
    done = ctx("score", "-m", "bertr", "-l", "de-en", "--format", "tsv", stdin=b"eins\tone\t\nzwei\ttwo\ttwo\n")
    assert done.code == 0 and [row["score"] for row in done.rows()] == ["0.0000", "100.0000", "50.0000"]
    assert "1 segment has an empty hypothesis or reference" in done.err


def test_a_byte_order_mark_is_dropped_and_said(ctx, expected):
    text = b"\xef\xbb\xbf" + columns(*map(lines_of, (SOURCE, A, REF)))
    done = ctx("score", "-m", "chrf", *TSV, stdin=text)
    assert done.rows()[0]["score"] == expected[NAME_A]
    assert "ctx-metrics: the standard input: dropped the byte-order mark" in done.err


def test_spellings_of_sacrebleu_and_comet_score(score, expected):
    assert score("-i", A, B, "--references", REF) == expected
    assert score("--translations", A, B, "-r", REF, "--sources", SOURCE) == expected
    assert score("--input", A, B, "-r", REF, "--source", SOURCE, "--only_system") == expected


@pytest.mark.parametrize(
    "paths, names",
    [
        (["a.txt", "b.en.txt.gz"], ["a", "b.en"]),
        (["x/a.txt", "y/a.txt", "y/b.txt"], ["x/a", "y/a", "b"]),
        (["p/x/a.txt", "q/x/a.txt", "x/y/a.txt"], ["p/x/a", "q/x/a", "y/a"]),
        (["x/a.txt", "/dev/fd/63"], ["a", "/dev/fd/63"]),
        (["a.txt", "a.out"], ["a.txt", "a.out"]),
        (["caf\udce9 1.txt"], ["caf__1"]),
    ],
)
def test_system_names(paths, names):
    assert system_names(paths) == names
    with pytest.raises(InputError, match="is given twice"):
        system_names([*paths, os.path.join(".", paths[0])])


@pytest.mark.parametrize("text", ["", "src", "mt,mt", "mt:a,mt:a", "src,src,mt", "doc,doc,mt", "mt,source", "src:a,mt"])
def test_bad_column_names_are_wrong_usage(ctx, text):
    done = ctx("score", "-m", "chrf", "--columns", text, stdin=b"x\n")
    assert done.code == 2 and done.out == "" and "argument --columns:" in done.err.splitlines()[-1]


def test_a_test_set_gives_sources_references_and_documents(tmp_path):
    add_test_set(tmp_path, "wmt18", "de-en", lines_of(SOURCE), lines_of(REF), lines_of(DOCIDS), ["de"] * 59)

    def score(*argv: str, stdin: str = "") -> list[str]:
        options = {"SACREBLEU": str(tmp_path), "http_proxy": "127.0.0.1:9", "https_proxy": "127.0.0.1:9"}
        done = fresh_ctx_metrics("score", "-m", "chrf", "-w", "3", *argv, stdin=stdin, **options)
        return [str(done.returncode), done.stderr, *done.stdout.splitlines()]

    of_files = score("-t", A, C, "-r", REF, "--docids", DOCIDS, "-l", "de-en", "--format", "jsonl")
    assert of_files[:2] == ["0", ""] and len(of_files) == 2 + 2 * 60
    assert score("-d", "wmt18:de-en", "-t", A, C, "--format", "jsonl") == of_files
    text = "".join(f"{line}\n" for line in lines_of(A))
    from_stdin = score("--sacrebleu_dataset", "wmt18:de-en", "--format", "jsonl", "--only-system", stdin=text)
    assert [line.replace('"stdin"', f'"{NAME_A}"') for line in from_stdin[2:]] == of_files[-2:-1]
    assert "test set wmt18 has no language pair 'de-xx'; it has " in score("-d", "wmt18:de-xx", "-t", A)[1]
    absent = score("-d", "wmt17:de-en", "-t", A)
    assert absent[0] == "1" and "-d: test set wmt17 is not on this machine and cannot be fetched" in absent[1]
    command = "sacrebleu --download wmt17 -l de-en"
    assert absent[1].endswith(f": {command}\n")
    done = sacrebleu(*command.split()[1:], SACREBLEU=str(tmp_path), http_proxy="127.0.0.1:9", https_proxy="127.0.0.1:9")
    assert "Traceback" in done.stderr and "urlopen" in done.stderr  # it is the command that fetches
