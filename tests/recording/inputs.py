"""Builds what the commands read: `python inputs.py FOLDER`. Both trees of a comparison get copies of the same files.

FOLDER/examples    the examples, models with random weights, judgements in many layouts, and short names (ref.txt, a.txt, ...)
                   that the pages in docs/ use
FOLDER/bad         the good and the bad files of tests/bad_input.md
"""

import gzip
import json
import lzma
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from classifiers import write_classifier
from comet_checkpoints import RECIPES, build, encoder_config, save_tokenizer, state_dict, tokenizer_family
from learned_folders import write_learned
from pairwise_folders import write_pairwise
from safetensors.torch import save_file
from sentence_folders import dense, pooling, write_model
from toy_judgements import write_judgements

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHORT_NAMES = {
    "ref.txt": "ref.en.txt",
    "hyp.txt": "system_a.en.txt",
    "src.txt": "source.de.txt",
    "source.txt": "source.de.txt",
    "ids.txt": "docids.txt",
    **{f"{letter}.txt": f"system_{letter}.en.txt" for letter in "abc"},
}


def write(folder: Path, files: dict[str, str]) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {".gz": lambda text: gzip.compress(text, mtime=0), ".xz": lzma.compress}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack.get(path.suffix, bytes)(text.encode()))


def lines(*rows: object) -> str:
    return "".join(f"{row}\n" for row in rows)


def write_encoder(folder: Path, recipe_name: str) -> Path:
    """A text encoder as transformers writes it: that of a COMET checkpoint."""
    recipe = RECIPES[recipe_name]
    folder.mkdir()
    config = encoder_config(recipe, save_tokenizer(folder, tokenizer_family(recipe.encoder)))
    (folder / "config.json").write_text(json.dumps(config))
    tensors = state_dict(recipe, config)
    prefix = "encoder.model."
    save_file(
        {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)},
        folder / "model.safetensors",
    )
    return folder


def write_models(folder: Path) -> None:
    """Models of every kind; those that name an encoder name it in their own folder or the embedded one."""
    from ctx_metrics.learned.networks import Shape

    for name in RECIPES:
        build(RECIPES[name], folder / f"tiny-{name}", "encoder")
    build(RECIPES["kiwi"], folder / "noenc", "microsoft/infoxlm-large")
    shutil.rmtree(folder / "noenc" / "encoder")
    shape = Shape(layers=6, width=384, hidden=8, projection=8, feedforward=8)
    for kind in ("bilstm", "bilstmatt", "esim"):
        write_learned(folder / f"random-{kind}", kind, "embedded", shape)
    write_learned(folder / "random-esim-source", "esim", "embedded", shape, inputs="mt+src")
    write_pairwise(folder / "random-pairwise")
    write_pairwise(folder / "random-pairwise-vectors", vectors=["encoder@3:5"], hidden=2)
    bert = write_encoder(folder / "encoder-bert", "regression-bert")
    write_encoder(folder / "encoder-xlmr", "regression")
    write_encoder(folder / "encoder-rembert", "unite-rembert")
    write_encoder(folder / "encoder-xl", "regression-xl")
    write_classifier(folder / "classifier", bert)
    write_classifier(folder / "classifier-one", bert, labels=1)
    write_model(folder / "sentence-mean", bert, [pooling("mean_tokens")])
    tanh = "torch.nn.modules.activation.Tanh"
    write_model(folder / "sentence-dense", bert, [pooling("cls_token"), dense(tanh), {"kind": "Normalize"}], limit=40)


def write_translators(folder: Path) -> None:
    import toy_translation

    write(folder, {"words.txt": lines(*toy_translation.lines(12)), "words-2.txt": lines(*toy_translation.lines(12, 1))})
    shutil.copytree(toy_translation.trained_marian().folder, folder / "marian")
    shutil.copytree(toy_translation.random_marian(), folder / "marian-codes")
    shutil.copytree(toy_translation.random_m2m(), folder / "m2m")
    shutil.copytree(toy_translation.random_nllb(), folder / "nllb")
    shutil.copytree(toy_translation.random_mbart(), folder / "mbart")
    write(
        folder, {"reverse.sh": "rev\n", "split.sh": "tr ' ' '\\n'\n", "fail.sh": "echo no such service >&2\nexit 3\n"}
    )


def write_data(folder: Path) -> None:
    """Judgements in the layouts that `ctx-metrics meta` and `train` read, candidates and tables."""
    write_judgements(folder / "toy.tsv", 40, seed=1)
    write_judgements(folder / "toydev.tsv", 12, seed=2)
    read = {name: (folder / file).read_text(encoding="utf-8").splitlines() for name, file in SHORT_NAMES.items()}
    ref, src, ids, *outputs = (read[name] for name in ("ref.txt", "src.txt", "ids.txt", "a.txt", "b.txt", "c.txt"))
    files = {name: lines(*text) for name, text in read.items()}
    # a tree of mt-metrics-eval
    tree = "wmt99/{}/de-en{}"
    files[tree.format("sources", ".txt")] = lines(*src)
    files[tree.format("references", ".refA.txt")] = lines(*ref)
    files[tree.format("references", ".refB.txt")] = lines(*outputs[0])
    files[tree.format("documents", ".docs")] = lines(*(f"news\t{name}" for name in ids))
    for system, text in zip("ABC", outputs):
        files[f"wmt99/system-outputs/de-en/{system}.txt"] = lines(*text)
    files["wmt99/system-outputs/de-en/refA.txt"] = lines(*ref)
    scores = [
        f"{name}\t{'None' if k % 7 == 3 else -((k * weight) % 9)}"
        for name, weight in zip("ABC", (1, 2, 5))
        for k in range(59)
    ]
    files[tree.format("human-scores", ".mqm.seg.score")] = lines(*scores)
    # system scores of WMT18/19
    pairs = [f"de-en {score} online-{name}.{k}" for k, (name, score) in enumerate(zip("ABC", (0.4, 0.1, -0.9)))]
    files["WMT19/DA-syslevel.csv"] = lines("LP HUMAN SYSTEM", *pairs)
    files["WMT19/references/newstest2019-deen-ref.en"] = lines(*ref)
    files["WMT19/source/newstest2019-deen-src.de"] = lines(*src)
    for k, name in enumerate("ABC"):
        files[f"WMT19/system-outputs/de-en/newstest2019.online-{name}.{k}.de-en"] = lines(*outputs[k])
    # MQM annotations, rankings, MLQE-PE, JSON lines
    kinds = [("Accuracy/Mistranslation", "Major"), ("Fluency/Punctuation", "Minor"), ("No-error", "No-error")]
    rows = [
        "\t".join((system, ids[k], ids[k], str(k + 1), "rater1", src[k], text[k], *kinds[(k * weight) % 3]))
        for system, text, weight in zip("ABC", outputs, (1, 2, 4))
        for k in range(13)
    ]
    files["mqm_newstest99_deen.tsv"] = lines(
        "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity", *rows
    )
    columns = ",".join(["srclang,trglang,segmentId", *(f"system{k}Id,system{k}rank" for k in range(1, 6))])
    ranks = [
        f"de,en,{k},{a},1,{b},2,{c},{2 + k % 2},D,-1,E,-1"
        for k in range(1, 14)
        for a, b, c in ("ABC", "BAC")[k % 2 :][:1]
    ]
    files["rankings.csv"] = lines(columns, *ranks)
    files |= {f"ranked/{name}": lines(*text) for name, text in zip("ABC", outputs)}
    rows = [f"{k}\t{src[k]}\t{outputs[1][k]}\t{ref[k]}\t{(k * 7) % 11 - 5}" for k in range(30)]
    files["mlqe.de-en.tsv"] = lines("index\toriginal\ttranslation\tpe\tz_mean", *rows)
    judged = [row.split("\t") for row in (folder / "judged.tsv").read_text(encoding="utf-8").splitlines()]
    objects = [dict(zip(judged[0], row)) for row in judged[1:]]
    files["judged.jsonl"] = lines(
        *(json.dumps({**row, "score": float(row["score"]), "ref": [row["ref"], row["mt"]]}) for row in objects)
    )
    # sentence pairs
    pairs = [f"{ref[k]}\t{outputs[k % 3][k if k % 2 else (k * 5) % 59]}\t{k % 2}" for k in range(40)]
    files["pairs.tsv"] = lines("sentence1\tsentence2\tlabel", *pairs)
    files["mrpc.txt"] = lines(
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *(f"{row[-1]}\t1\t2\t{row[:-2]}" for row in pairs)
    )
    # candidates
    candidates = list(zip(src, *outputs))
    files["list.nbest"] = lines(
        *(f"{k} ||| {text} ||| F=1 ||| {-j - k % 2}.5" for k in range(59) for j, text in enumerate(candidates[k][1:]))
    )
    files["samples.txt"] = lines(*(text for row in candidates for text in row[1:]))
    files["candidates.tsv"] = lines(*("\t".join(row[1:]) for row in candidates))
    files["candidates.jsonl"] = lines(
        *(json.dumps({"src": s, "candidates": texts, "scores": [-1, -2, -3]}) for s, *texts in candidates)
    )
    files["generate.txt"] = lines(
        *(
            line
            for k, (s, *texts) in enumerate(candidates[:9])
            for line in (f"S-{k}\t{s}", *(f"D-{k}\t-0.{j}\t{t}" for j, t in enumerate(texts)))
        )
    )
    # tables, packed and not
    rows = ["\t".join(row) for row in zip(src, outputs[1], ref, ids, outputs[2])]
    files["table.tsv"] = files["table.tsv.gz"] = files["table.tsv.xz"] = lines("src\tmt\tref\tdoc\tother", *rows)
    files["bare.tsv"] = files["corpus.tsv"] = lines(*(f"{ids[k]}\t{src[k]}\t{outputs[1][k]}" for k in range(59)))
    files["table.jsonl"] = lines(*(json.dumps(dict(zip(("src", "mt", "ref", "doc"), row.split("\t")))) for row in rows))
    quoted = ['"' + row.replace('"', '""').replace("\t", '","') + '"' for row in ["src\tmt\tref\tdoc\tother", *rows]]
    files["table.csv"] = lines(*quoted)
    for name, text in zip("abc", outputs):
        files[f"packed.{name}.txt.gz"] = lines(*text)
    files["columns.tsv"] = lines(*("\t".join(row) for row in zip(src, outputs[0], ref)))
    files["two.tsv"] = lines(*("\t".join(row) for row in zip(outputs[0], outputs[1])))
    files["two-references.tsv"] = lines(*("\t".join(row) for row in zip(ref, outputs[1])))
    files["some-missing.txt"] = lines(*("" if k % 5 == 0 else text for k, text in enumerate(ref)))
    files["some-empty.txt"] = lines(*("" if k % 5 == 1 else text for k, text in enumerate(outputs[0])))
    files["entities.txt"] = lines(*(text.replace("'", "&apos;") + " &amp; more" for text in outputs[0]))
    files["shifted.txt"] = lines(*outputs[0][1:], outputs[0][0])
    files["backwards.txt"] = lines(*(" ".join(reversed(text.split())) for text in outputs[0]))
    files["vectors.txt"] = lines(
        *(
            f"{word} {k % 5 / 10} {k % 7 / 10} {k % 3 / 10}"
            for k, word in enumerate(dict.fromkeys(" ".join(ref).lower().split()))
        )
    )
    write(folder, files)
    (folder / "latin1.txt").write_bytes("".join(f"{text} é\n" for text in outputs[0]).encode("latin-1", "replace"))
    write_parquet(folder / "table.parquet", rows)


def write_parquet(path: Path, rows: list[str]) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = zip(*(row.split("\t") for row in rows))
    pyarrow.parquet.write_table(
        pyarrow.table(dict(zip(("src", "mt", "ref", "doc", "other"), map(list, columns)))), path
    )


def write_bad(folder: Path) -> None:
    import test_bad_input

    folder.mkdir()
    for make in (test_bad_input.write_files, test_bad_input.write_checkpoints, test_bad_input.write_trained_models):
        make(folder)


def build_inputs(folder: Path) -> None:
    torch.set_num_threads(1)
    examples = folder / "examples"
    shutil.copytree(EXAMPLES, examples)
    write_data(examples)
    write_models(examples)
    write_translators(examples)
    write_bad(folder / "bad")


if __name__ == "__main__":
    build_inputs(Path(sys.argv[1]))
