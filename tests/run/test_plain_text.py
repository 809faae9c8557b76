"""Texts that are not one plain segment per line are named with what reads them; published texts never are."""

import base64
import importlib.util
import json
import lzma
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import forked, forked_sacrebleu  # noqa: F401  fixtures

from ctx_metrics import evaluate, read_lines
from ctx_metrics.checks.plain_text import KINDS, check_plain_text, kind_of
from ctx_metrics.corpus import named
from ctx_metrics.errors import InputError
from ctx_metrics.judgements.options import DataOptions
from ctx_metrics.notices import collected
from ctx_metrics.pairwise.training.data import read_pair_sets
from ctx_metrics.subtitles import without_times
from ctx_metrics.training.quality.judgements import read_judgements
from ctx_metrics.training.quality.options import TrainingOptions
from ctx_metrics.training.quality.synthetic.pairs import read_clean_pairs

REF = """\
Where were you last night?
I looked everywhere for you.
My phone was dead.
He said: "I don't believe you."
The 12 members met in room 4.
Nobody knows why the train was late.
- No, it wasn't (or so they say).
In 1999, the town had 3,500 people.""".split("\n")
HYP = """\
Where have you been yesterday evening?
I searched you everywhere.
My telephone was empty.
He said: "I do not believe that."
The 12 members met in room 4.
No one knows why the train was late.
- No, it was not (or so it is said).
In 1999 the city had 3,500 people.""".split("\n")
SOURCE = """\
Wo warst du gestern Abend?
Ich habe überall nach dir gesucht.
Mein Telefon war leer.
Er sagte: „Das glaube ich dir nicht.“
Die 12 Mitglieder trafen sich in Raum 4.
Niemand weiß, warum der Zug zu spät kam.
- Nein, war er nicht (sagt man).
1999 hatte die Stadt 3.500 Einwohner.""".split("\n")


def srt(lines: list[str]) -> list[str]:
    return [
        part
        for k, line in enumerate(lines)
        for part in (str(k + 1), f"00:00:{k % 60:02},000 --> 00:00:{k % 60:02},900", line, "")
    ]


def each(pattern: str):
    return lambda lines: [pattern.format(text=line, k=k, n=k + 1) for k, line in enumerate(lines)]


def words(pattern: str):
    return lambda lines: [" ".join(pattern.format(word) for word in line.split()) for line in lines]


def conll(lines: list[str]) -> list[str]:
    return [
        row
        for line in lines
        for row in (*(f"{k}\t{word}\t{word}\tNOUN\t_\t_\t0\troot\t_\t_" for k, word in enumerate(line.split(), 1)), "")
    ]


def po(lines: list[str]) -> list[str]:
    return [row for k, line in enumerate(lines) for row in (f"#: a.c:{k}", f'msgid "{k}"', f'msgstr "{line}"', "")]


# by name: the kind, and the lines made of plain ones
MADE = {
    "srt": ("subtitles", srt),
    "vtt": ("subtitles", lambda lines: ["WEBVTT", "", *(row for row in srt(lines) if not row.isdigit())]),
    "whisper": ("subtitles", each("[00:{n:02}.000 --> 00:{n:02}.900]  {text}")),
    "ass": ("subtitle events", each("Dialogue: 0,0:00:0{k}.00,0:00:0{n}.00,Default,,0,0,0,,{text}")),
    "fairseq": ("fairseq", lambda lines: [f"{w}-{k}\t-0.3\t{t}" for k, t in enumerate(lines) for w in "SHDP"]),
    "jsonl": ("json lines", lambda lines: [json.dumps({"id": k, "mt": line}) for k, line in enumerate(lines)]),
    "simuleval": (
        "json lines",
        lambda lines: [json.dumps({"index": 0, "prediction": line, "delays": [1]}) for line in lines],
    ),
    "array": ("json", lambda lines: json.dumps(lines, indent=1).split("\n")),
    "objects": ("json", lambda lines: json.dumps([{"mt": line, "id": 1} for line in lines], indent=2).split("\n")),
    "n-best": ("n-best list", each("{k} ||| {text} ||| -1.2")),
    "fast_align": ("n-best list", each("ein Satz ||| {text}")),
    "po": ("gettext", po),
    "conll": ("CoNLL", conll),
    "logging": ("log", each("2024-05-01 12:00:0{k},123 | INFO | {text}")),
    "levels": ("log", each("INFO:root:{text}")),
    "stm": ("segment times", each("talk1 A speaker1 {k}.52 {n}.10 <o> {text}")),
    "id-tab": ("tab-separated", each("{k}\t{text}")),
    "columns": ("tab-separated", each("news\t{k}\tein Satz\t{text}")),
    "csv": ("csv", each('{k},"{text}","ein Satz, der"')),
    "quoted-csv": ("csv", each('"{k}","{text}"')),
    "sgml": ("mark-up of test sets", each('<seg id="{n}">{text}</seg>')),
    "tmx": ("mark-up of test sets", each('<tuv xml:lang="en"><seg>{text}</seg></tuv>')),
    "xliff": ("mark-up of test sets", each('  <trans-unit id="{n}"><target>{text}</target></trans-unit>')),
    "html": ("mark-up", each("<p>{text}</p>")),
    "times": ("time stamps", each("[00:0{k}:12] {text}")),
    "pharaoh": ("word alignments", lambda lines: ["0-0 1-2 2-1" for _ in lines]),
    "ids": ("token ids", each("101 2{k}38 77 4{n} 102")),
    "scores": ("scores", each("0.7{k}")),
    "base64": ("encoded", lambda lines: [base64.b64encode(line.encode()).decode() for line in lines]),
    "hex": ("encoded", lambda lines: [line.encode().hex() for line in lines]),
    "binary": ("binary", words("{}\x00\x01")),
    "mojibake": ("wrong encoding", words("{} schÃ¶n")),
    "escapes": ("escapes", words("{}\\u00e9")),
    "url": ("escapes", lambda lines: [line.replace(" ", "%20") for line in lines]),
    "bpe": ("BPE", words("x@@ {}")),
    "pieces": ("SentencePiece", words("▁{} s")),
    "byte-level": ("byte-level BPE", words("Ġ{}")),
    "wordpiece": ("WordPiece", words("{}x ##s")),
    "joiner": ("joiners", words("{}￭ s")),
    "factors": ("factors", words("{}|NN|x")),
    "tagged": ("factors", words("{}_NN")),
    "trees": ("trees", each("(ROOT (S (NP (NN {text}))))")),
    "eos": ("special tokens", each("{text} </s>")),
    "tag": ("special tokens", each(">>eng<< {text}")),
    "chat": ("special tokens", each("<|im_start|>{text}<|im_end|>")),
    "repr": ("lists of code", lambda lines: [repr(line.split()) for line in lines]),
    "bytes": ("lists of code", lambda lines: [repr(line.encode()) for line in lines]),
    "trn": ("trailing ids", each("{text} (spk-{k:03})")),
    "markdown": ("Markdown table", each("| {k} | {text} |")),
    "yaml": ("YAML", lambda lines: [row for line in lines for row in ("- id: x", f"  mt: {line}")]),
    "properties": ("keys", each("key.{k}x = {text}")),
    "strings": ("quoted", lambda lines: [json.dumps(line) for line in lines]),
    "numbers": ("numbered", each("{n}. {text}")),
    "brackets": ("numbered", each("{n}) {text}")),
    "line-ids": ("numbered", each("newstest-src-{n} {text}")),
    "speakers": ("labels", lambda lines: [f"{('Anna', 'Speaker 2')[k % 2]}: {line}" for k, line in enumerate(lines)]),
    "label": ("labels", each("Translation: {text}")),
    "bullets": ("bullets", each("• {text}")),
}
# where sources and references may be so too
CONTENT = {kind.name for kind in KINDS if kind.content}


def said(systems, references, source=None) -> list[str]:
    with collected() as notices:
        check_plain_text(
            [named(lines, f"hyp{k}") for k, lines in enumerate(systems, 1)],
            [named(lines, f"ref{k}") for k, lines in enumerate(references, 1)],
            source and named(source, "src"),
        )
    return [str(each) for each in notices]


@pytest.mark.parametrize("name", MADE)
def test_a_kind_is_named_wherever_it_is(name):
    kind, make = MADE[name]
    made = make(HYP)
    assert kind_of(made) == kind
    words = next(each.words for each in KINDS if each.name == kind)
    for streams, where in (
        (([made], [REF], SOURCE), "hyp1"),
        (([HYP, HYP], [make(REF)], SOURCE), "ref1"),
        (([HYP], [REF], make(SOURCE)), "src"),
        (([made], [], None), "hyp1"),
    ):
        [line] = said(*streams)
        assert f"lines of {where} {words}; " in line
    # where all have it, only what no text of a test set has
    shared = [line for line in said([made], [make(REF)], make(SOURCE)) if words in line]
    assert len(shared) == (kind not in CONTENT)


def test_every_kind_is_made():
    assert {kind.name for kind in KINDS} == {kind for kind, _ in MADE.values()}


def test_plain_texts_and_few_lines_of_a_kind_are_plain():
    assert not said([HYP], [REF], SOURCE) and not said([[*HYP[:5], *MADE["jsonl"][1](HYP[5:])]], [REF], SOURCE)
    assert not said([['{"a": 1}', "{n}"]], []) and not said([["", None]], [[None, ""]], ["", ""])


def test_numbers_of_all_lines_are_no_list():
    hyp, ref, source = (MADE["numbers"][1](lines * 3) for lines in (HYP, REF, SOURCE))
    [line] = said([hyp], [ref], source)
    assert line.startswith(
        "not plain text: 24 of 24 lines of hyp1, 24 of 24 lines of ref1, 24 of 24 lines of src begin with"
    )


def test_numbers_that_count_lines_within_them_are_plain():
    assert not said([[f"House number {k} is old." for k in range(40)]], [REF * 5], SOURCE * 5)


def test_a_long_text_is_read_in_blocks():
    lines = [f"{word} {k}" for k, word in enumerate(["a house", "no house", "some houses"] * 2000)]
    assert kind_of(lines) == ""
    assert kind_of([f"{k}\t{line}" for k, line in enumerate(lines)]) == "tab-separated"
    assert kind_of(srt(lines)) == "subtitles"


def test_subtitles_are_read_as_their_texts():
    assert without_times("\n".join(srt(REF)), "x").split("\n") == [*REF, ""]
    assert without_times("\n".join(MADE["vtt"][1](REF)), "x").split("\n") == [*REF, ""]
    assert without_times("\n".join(MADE["whisper"][1](REF)), "x").split("\n") == [*REF, ""]
    cues = "1\r\n00:00:01,000 --> 00:00:02,000\r\nI looked\r\neverywhere.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n\r\n"
    assert without_times(cues, "x") == "I looked everywhere.\n\n"
    assert without_times("\n".join(REF), "x") == "\n".join(REF)


@pytest.fixture
def write(tmp_path):
    def written(name: str, lines: list[str]) -> str:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(tmp_path / name)

    return written


def test_align_reads_subtitles_as_segments(write, tmp_path, ctx):
    hyp, ref, src = write("hyp.srt", srt(HYP)), write("ref.srt", srt(REF)), write("src.srt", srt(SOURCE))
    assert ctx("align", hyp, "-r", ref, "-s", src, "-l", "de-en", "-o", tmp_path / "out.txt", "-q").code == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split("\n") == [*HYP, ""]
    flags = ["-l", "de-en", "--format", "tsv", "--only-system", "-q"]
    done = ctx("score", "-m", "bleu", "-t", hyp, "-r", ref, "--align", *flags)
    plain = ctx("score", "-m", "bleu", "-t", write("hyp", HYP), "-r", write("ref", REF), *flags)
    assert done.out.split()[-1] == plain.out.split()[-1] and "8 subtitles" in done.err


LISTS = [name for name, (kind, _) in MADE.items() if kind in ("fairseq", "n-best list")]  # which mbr and rerank read
SUBTITLES = [name for name, (kind, _) in MADE.items() if kind == "subtitles"]  # which align reads


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    """A folder with a file of each sample, ref and src, which empty lines make equally long, and all as columns of a table."""
    folder = tmp_path_factory.mktemp("samples")
    texts = {name: make(HYP) for name, (_, make) in MADE.items()} | {"ref": REF, "src": SOURCE}
    length = max(map(len, texts.values()))
    texts = {name: [*lines, *[""] * (length - len(lines))] for name, lines in texts.items()}
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rows = (json.dumps(dict(zip(texts, row, strict=True))) for row in zip(*texts.values(), strict=True))
    (folder / "table.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return folder


def named_in(said: str, name: str) -> bool:
    """Whether a line says of a sample what it is."""
    words = next(each.words for each in KINDS if each.name == MADE[name][0])
    return any(
        f"{words}; " in line and re.search(rf"lines of (?:\S*/|column )?{name}(?:\.txt)?[ ,]", line)
        for line in said.splitlines()
    )


# of each command, all samples in one run, and those that it reads as they are meant
RUNS = {
    "score": ("score -t SAMPLES -r ref.txt -m chrf", []),
    "compare": ("compare -t ref.txt src.txt -r SAMPLES -m chrf", []),
    "report": ("report -t ref.txt -r SAMPLES -s src.txt -m chrf -o page.html", []),
    "mbr": ("mbr SAMPLES -m bleu -o best", LISTS),
    "rerank": ("rerank SAMPLES -s src.txt -m comet --model MODEL -o best", LISTS),
    "annotate": ("annotate table.jsonl --columns mt=src COLUMNS -m chrf -o scored", []),
}


@pytest.mark.full
@pytest.mark.parametrize("command", RUNS)
def test_every_command_says_it(command, samples, ctx, monkeypatch, tmp_path):
    words, read = RUNS[command]
    names = [name for name in MADE if name not in read]
    several = {
        "MODEL": [build(RECIPES["referenceless"], tmp_path / "model")] if command == "rerank" else [],
        "SAMPLES": [f"{name}.txt" for name in names],
        "COLUMNS": [f"ref={name}" for name in names],
    }
    monkeypatch.chdir(samples)
    done = ctx(*(each for word in words.split() for each in several.get(word, [word])), "-l", "de-en", "-q")
    assert done.code == 0 and [name for name in names if not named_in(done.err, name)] == []


@pytest.mark.full
def test_sacrebleu_says_it(samples, forked_sacrebleu):
    done = forked_sacrebleu(
        "ref.txt", "-i", *(f"{name}.txt" for name in MADE), "-m", "nist", "-l", "de-en", cwd=samples
    )
    assert done.returncode == 0 and [name for name in MADE if not named_in(done.stderr, name)] == []


@pytest.mark.full
def test_align_says_it(samples, ctx, monkeypatch):
    monkeypatch.chdir(samples)
    names = [name for name in MADE if name not in SUBTITLES]
    half = len(names) // 2
    for pair in zip(names[:half], names[-half:], strict=True):
        done = ctx(
            "align", "ref.txt", "-r", f"{pair[0]}.txt", "-s", f"{pair[1]}.txt", "-l", "de-en", "-o", "aligned", "-q"
        )
        assert done.code == 0 and [name for name in pair if not named_in(done.err, name)] == []


def test_evaluate_says_it(samples):
    systems = {name: read_lines(str(samples / f"{name}.txt")) for name in MADE}
    said = "\n".join(evaluate(systems, read_lines(str(samples / "ref.txt")), metrics="chrf").notices)
    assert [name for name in MADE if not named_in(said, name)] == []


@pytest.fixture(scope="module")
def tree(samples) -> Path:
    """Judgements in mt-metrics-eval's layout, whose systems the samples are."""
    folder = samples / "tree"
    files = {f"system-outputs/de-en/{name}.txt": (samples / f"{name}.txt").read_text(encoding="utf-8") for name in MADE}
    files |= {"sources/de-en.txt": (samples / "src.txt").read_text(encoding="utf-8")}
    files |= {"references/de-en.refA.txt": (samples / "ref.txt").read_text(encoding="utf-8")}
    length = files["sources/de-en.txt"].count("\n")
    scores = (f"{name}\t{-(k * place % 7)}\n" for place, name in enumerate(MADE) for k in range(length))
    files |= {"documents/de-en.docs": "news\td\n" * length, "human-scores/de-en.mqm.seg.score": "".join(scores)}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.full
def test_meta_says_it(tree, ctx):
    done = ctx("meta", tree, "-m", "chrf", "-l", "de-en", "-q", "-p", "seg-pearson")
    assert done.code == 0 and [name for name in MADE if not named_in(done.err, name)] == []


@pytest.mark.parametrize("read, options", [(read_judgements, TrainingOptions), (read_pair_sets, DataOptions)])
def test_judgements_to_train_on_say_it(tree, read, options):
    with collected() as notices:
        read([str(tree)], options(text_checks=True))
    said = "\n".join(map(str, notices))
    assert [name for name in MADE if not named_in(said, name)] == []


def test_translations_to_make_errors_in_say_it(tmp_path):
    rows = zip(SOURCE, MADE["jsonl"][1](REF), strict=True)
    (tmp_path / "clean.de-en.tsv").write_text("src\tref\n" + "".join("\t".join(row) + "\n" for row in rows))
    with collected() as notices:
        read_clean_pairs([str(tmp_path / "clean.de-en.tsv")], TrainingOptions(text_checks=True))
    assert any("8 of 8 lines of clean.de-en/reference are JSON objects" in str(each) for each in notices)


def test_it_is_said_where_lengths_differ(write, ctx, tmp_path):
    odd, ref = write("odd.txt", MADE["objects"][1](HYP)), write("ref.txt", REF)
    for argv in (
        ["score", "-t", odd, "-r", ref, "-m", "chrf"],
        ["align", ref, "-r", odd, "-s", ref, "-o", tmp_path / "a"],
    ):
        done = ctx(*argv, "-l", "de-en")
        assert done.code == 1 and "odd.txt are JSON over several lines; " in done.err
    with collected() as notices, pytest.raises(InputError, match="align=True"):
        evaluate(srt(HYP), REF, metrics="chrf")
    assert any("hypotheses are numbers and times" in str(each) for each in notices)


@pytest.mark.full
def test_sacrebleu_says_it_where_lengths_differ(write, forked_sacrebleu):
    hyp, ref = write("hyp.txt", srt(HYP)), write("ref.txt", REF)
    done = forked_sacrebleu(ref, "-i", hyp, "-m", "nist", "-l", "de-en")
    assert done.returncode == 1 and "hyp.txt are numbers and times of subtitles; " in done.stderr
    done = forked_sacrebleu(ref, "-i", hyp, "-m", "nist", "-l", "de-en", "--ctx-no-text-checks")
    assert done.returncode == 1 and "not plain text" not in done.stderr


def _documents(folder: Path):
    """The outputs of whole documents: for each system and pair, the documents, and all of their lines."""
    for path in sorted(folder.glob("*.jsonl.xz")):
        of_pairs = defaultdict(list)
        for line in lzma.open(path, "rt", encoding="utf-8"):
            row = json.loads(line)
            of_pairs[row["doc_id"].split("_###_")[3]].append(row.get("hypothesis") or "")
        for pair, texts in of_pairs.items():
            yield f"{path.name} {pair}", texts
            yield f"{path.name} {pair} lines", [line for text in texts for line in text.split("\n")]


@pytest.mark.full
def test_published_texts_of_lines_are_plain(shared_data, monkeypatch):
    benchmarks = Path(__file__).resolve().parents[2] / "benchmarks"
    spec = importlib.util.spec_from_file_location("text_sets", benchmarks / "text_sets.py")
    text_sets = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "text_sets", text_sets)
    spec.loader.exec_module(text_sets)
    found, seen = [], 0
    for each in text_sets.read_sets(shared_data):
        streams = [*each.systems.items(), *each.references.items(), ("source", each.source or [])]
        found += [(each.name, name, kind) for name, texts in streams if (kind := kind_of(texts))]
        seen += len(streams)
    assert seen and not found


@pytest.mark.full
def test_published_outputs_of_documents_are_plain(shared_data):
    """But for what their sources are too, such as HTML."""
    kinds = {name: kind_of(texts) for name, texts in _documents(shared_data / "wmt26_outputs")}
    assert kinds and {*kinds.values()} - {"", *CONTENT} == set()
