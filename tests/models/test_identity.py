"""A model is known by all files that its scores depend on: with another file, nothing that was kept is used."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cli_conftest import ctx  # noqa: F401  fixture
from comet_checkpoints import RECIPES, build
from damage import change_ckpt, other, weights
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, lines_of

pytestmark = pytest.mark.full


encoder_weights = weights("embeddings.word_embeddings.weight", lambda tensor: tensor * 1.5)


def comet_weights(folder: Path) -> None:
    change_ckpt(folder, state_dict={"estimator.ff.0.bias": lambda bias: bias + 1.0})


def other_pieces(name: str) -> Callable[[Path], None]:
    """The tokenizer gives two common letters each other's number."""

    def change(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        pieces = content["model"]["vocab"]
        if isinstance(pieces, dict):
            pieces["e"], pieces["a"] = pieces["a"], pieces["e"]
        else:
            places = {piece: i for i, (piece, _) in enumerate(pieces)}
            one, other = places["e"], places["a"]
            pieces[one], pieces[other] = pieces[other], pieces[one]
        (folder / name).write_text(json.dumps(content))

    return change


def hparams(folder: Path) -> None:
    content = yaml.safe_load((folder / "hparams.yaml").read_text())
    (folder / "hparams.yaml").write_text(yaml.safe_dump({**content, "layer_transformation": "sparsemax"}))


FILES = ["-s", SOURCE, "-t", A, "-r", REF, "--docids", DOCIDS, "-l", "de-en"]
CHANGES = [
    ("bertr", encoder_weights),
    ("bertr", other("config.json", layer_norm_eps=0.5)),
    ("bertr", other_pieces("tokenizer.json")),
    ("bertscore", other_pieces("tokenizer.json")),
    ("comet", comet_weights),
    ("comet", hparams),
    ("comet", other("encoder/config.json", layer_norm_eps=0.5)),
    ("slide", other_pieces("encoder/tokenizer.json")),
    ("mbr", other("encoder/config.json", layer_norm_eps=0.5)),
    ("annotate", other_pieces("encoder/tokenizer.json")),
    ("annotate", hparams),
]


@pytest.mark.parametrize("kind, change", CHANGES)
def test_a_changed_file_is_another_model(ctx, tiny_bert, tmp_path, kind, change):
    """Scored anew, to what a run without any kept result gives, or refused; never the earlier model's scores."""
    model = tmp_path / "model"
    if kind in ("bertr", "bertscore"):
        shutil.copytree(tiny_bert, model)
    else:
        build(RECIPES["regression-patch"], model)
    table = tmp_path / "table.tsv"
    rows = zip(lines_of(SOURCE), lines_of(A), lines_of(REF), strict=True)
    table.write_text("".join("\t".join(row) + "\n" for row in [("src", "mt", "ref"), *rows]), encoding="utf-8")

    def run(kept: Path) -> tuple[int, str, str]:
        if kind == "annotate":
            done = ctx(
                "annotate", table, "-m", "comet", "--comet-model", model, "-l", "de-en", "--block", "20", "-o", kept
            )
            parts = "".join(path.read_text(encoding="utf-8") for path in sorted(kept.glob("part-*")))
            return done.code, parts, done.err
        if kind == "mbr":
            more = ["--comet-model", model, "--format", "jsonl", "-s", SOURCE]
            return ctx("mbr", A, B, "-m", "comet", *more, "--ctx-cache", kept)
        more = [f"--{kind}-model", model, *(["--bertscore-layer", "2"] if kind == "bertscore" else [])]
        return ctx("score", *FILES, "-m", kind, *more, "--format", "jsonl", "--ctx-cache", kept)

    first = run(tmp_path / "kept")
    assert first[0] == 0, first[2]
    before = {path: path.read_bytes() for path in (tmp_path / "kept").glob("part-*")}
    change(model)
    code, out, err = run(tmp_path / "kept")
    fresh = run(tmp_path / "fresh")
    if fresh[0]:  # the changed model cannot be used at all
        assert code and err.splitlines()[-1] == fresh[2].splitlines()[-1]
    elif kind == "annotate":
        assert code == 1 and "its signature changed from " in err and fresh[1] != first[1]
        assert before == {path: path.read_bytes() for path in (tmp_path / "kept").glob("part-*")}
    else:
        assert code == 0, err
        assert out == fresh[1] != first[1] and "read from an earlier run" not in err
