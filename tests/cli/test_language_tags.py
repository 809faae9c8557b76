"""The codes of a language, with and without script and region, give the same scores and signatures in every command."""

import json

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics import evaluate

REFERENCE = ["今天天气很好，我们去公园。", "他昨天没有来上班。", "这本书非常有意思，你应该读一读。"]
OUTPUT = ["今天天气非常好，我们去了公园。", "他昨天没来上班。", "这本书很有意思，你应该读读它。"]
OTHER = ["天气好。", "他昨天没有来。", "这本书你应该读。"]
SOURCE = [
    "The weather is fine today, and we go to the park.",
    "He was off work yesterday.",
    "You should read this book.",
]
TAGS = ("zh", "ZH", "zh_CN", "zh-Hans", "zho", "chi", "cmn", "zho_Hans", "cmn-Hans-CN")
SLOW = pytest.mark.full


@pytest.fixture
def files(tmp_path):
    for name, lines in (("ref", REFERENCE), ("a", OUTPUT), ("b", OTHER), ("src", SOURCE)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{mt}\t{ref}" for mt, ref in zip(OUTPUT, REFERENCE)]
    (tmp_path / "table.tsv").write_text("\n".join(["mt\tref", *rows]) + "\n", encoding="utf-8")
    judged = [
        f"{name}\t{i}\t{mt}\t{REFERENCE[i]}\t{score + i}"
        for name, texts, score in (("A", OUTPUT, 80), ("B", OTHER, 30))
        for i, mt in enumerate(texts)
    ]
    (tmp_path / "judged.tsv").write_text("\n".join(["system\tseg\tmt\tref\tscore", *judged]) + "\n", encoding="utf-8")
    document = " ".join(OUTPUT).replace(" ", "")
    (tmp_path / "whole.txt").write_text(f"{document}\n", encoding="utf-8")
    return tmp_path


def results(ctx, files, command: str, tag: str) -> object:
    """The scores and signatures of a command, or the text that it writes."""
    texts, lexical = ["-r", f"{files}/ref.txt", "-l", f"en-{tag}"], ["-m", "bleu", "nist", "meteor", "-q"]
    systems = ["-t", f"{files}/a.txt", f"{files}/b.txt"]
    if command in ("score", "compare"):
        done = ctx(command, *systems, *texts, *lexical, "--format", "json")
    elif command == "annotate":
        bleu = ["-m", "bleu", "-q"]
        done = ctx(command, f"{files}/table.tsv", "-o", f"{files}/{tag}", "-l", f"en-{tag}", *bleu)
        assert done.code == 0, done.err
        [part] = sorted((files / tag).glob("*.tsv"))
        return part.read_text(encoding="utf-8")
    elif command == "mbr":
        done = ctx("mbr", f"{files}/a.txt", f"{files}/b.txt", f"{files}/ref.txt", "-l", f"en-{tag}", "-m", "bleu", "-q")
    elif command == "meta":
        done = ctx(
            "meta", f"{files}/judged.tsv", "-l", f"en-{tag}", "-m", "bleu", "-p", "sys-acc", "-q", "--format", "json"
        )
        found = json.loads(done.out)
        return json.dumps(found, sort_keys=True).replace(f"en-{tag}", "PAIR")
    elif command == "report":
        table = f"{files}/{tag}.tsv"
        page = ["-o", f"{files}/{tag}.html", "--tables", table]
        done = ctx("report", *systems, *texts, *lexical[:2], "-q", *page)
        assert done.code == 0, done.err
        return open(table, encoding="utf-8").read()
    else:
        written = f"{files}/{tag}-aligned.txt"
        done = ctx("align", f"{files}/whole.txt", *texts, "-o", written)
        assert done.code == 0, done.err
        return open(written, encoding="utf-8").read()
    assert done.code == 0, done.err
    return done.out


COMMANDS = (
    "score",
    "compare",
    "annotate",
    "mbr",
    "meta",
    *(pytest.param(each, marks=SLOW) for each in ("report", "align")),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_all_codes_of_a_language_are_one(ctx, files, command):
    first = results(ctx, files, command, TAGS[0])
    assert first
    for tag in TAGS[1:]:
        assert results(ctx, files, command, tag) == first, tag


def test_all_codes_of_a_language_are_one_in_python():
    found = [evaluate(OUTPUT, REFERENCE, metrics=["bleu", "nist", "meteor"], target_lang=tag) for tag in TAGS]
    assert len({str((each.signatures, each.system)) for each in found}) == 1
    assert "tok:zh" in str(found[0].signatures["bleu"])


@pytest.mark.parametrize("pair, said", [("en-zh_CN", 1), ("en-zho", 1), ("en-zh", 0), ("en-de_DE", 0)])
def test_sacrebleu_names_the_tokenizer_that_its_bleu_misses(forked_sacrebleu, files, pair, said):
    done = forked_sacrebleu("ref.txt", "-i", "a.txt", "-m", "bleu", "nist", "-l", pair, "-b", cwd=files)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("sacrebleu uses the tokenizer 13a; give --tokenize zh") == said
