"""COMET checkpoints with random but spread weights, made offline and without unbabel-comet.

`python tests/comet_checkpoints.py DIR` makes those that the pages in docs/ name: DIR/tiny-regression and so on.
"""

import hashlib
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LABELS = ["minor", "major", "critical"]
POLYCAND = "polycand_metric"
# vectors that the head of each class reads; of the last one, those without candidates and reference
HEADS = {
    "regression_metric": 6,
    "referenceless_regression_metric": 4,
    "unified_metric": 1,
    "xcomet_metric": 1,
    POLYCAND: 4,
}
SEPARATE = (
    "regression_metric",
    "referenceless_regression_metric",
    "ranking_metric",
    POLYCAND,
)  # these read each text by itself


@dataclass(frozen=True)
class Recipe:
    """What one checkpoint is made of, in the terms of its hparams.yaml.

    yaml_transformation    layer_transformation as hparams.yaml has it, where it differs from the checkpoint's own
    scalars                the layer mix's parameters before softmax or sparsemax; None draws them
    buckets                of distances between tokens (DeBERTa); so few that short texts reach the shared ones
    sharpness              how uneven attention is
    gamma                  the factor of the layer mix
    outputs                of the head, of which the first is the score
    gain, bias             of the head's last layer, so that scores are spread and small
    tag_bias               added to the logit of "no error", so that some tokens are errors and most are not
    """

    kind: str
    encoder: str = "XLM-RoBERTa"
    inputs: tuple[str, ...] = ("mt", "src", "ref")
    word_level: bool = False
    labels: int = 2
    word_layer: int = 2
    pool: str = "avg"
    layer: str | int = "mix"
    transformation: str = "softmax"
    yaml_transformation: str | None = None
    scalars: tuple[float, ...] | None = None
    layer_norm: bool = False
    hidden_sizes: tuple[int, ...] = (24, 16)
    activations: str = "Tanh"
    final_activation: str | None = None
    dropout: float = 0.1
    layers: int = 3
    width: int = 32
    heads: int = 4
    buckets: int = 32
    sharpness: float = 2.0
    outputs: int = 1
    gamma: float = 0.9
    gain: float = 1.0
    bias: float = 0.3
    tag_bias: float = 1.2


SPARSE = {"transformation": "sparsemax", "layers": 4}
SPARSE_MIX = {"scalars": (0.3, -2.0, 0.6, 0.5, -1.5), **SPARSE}
WORDS_OF_THREE = {"word_level": True, "labels": 3, "bias": 0.95}
RECIPES = {
    "regression": Recipe("regression_metric"),
    "regression-sparsemax": Recipe("regression_metric", **SPARSE_MIX),
    "regression-patch": Recipe(
        "regression_metric", yaml_transformation="sparsemax_patch", final_activation="Sigmoid", gain=4.0, **SPARSE_MIX
    ),
    "regression-layernorm": Recipe(
        "regression_metric",
        pool="max",
        layer_norm=True,
        hidden_sizes=(24, 16, 8),
        activations="softplus",
        gain=2.0,
        bias=1.0,
    ),
    "regression-cls": Recipe("regression_metric", pool="cls", layer=2, hidden_sizes=(24,), dropout=0.0),
    "regression-bert": Recipe("regression_metric", encoder="BERT", layer_norm=True, activations="Hardtanh", width=48),
    "regression-minilm": Recipe(
        "regression_metric", encoder="MiniLM", scalars=(0.5, 0.1, -3.0, 0.4), **SPARSE | {"layers": 3}
    ),
    "regression-xl": Recipe("regression_metric", encoder="XLM-RoBERTa-XL"),
    "regression-default": Recipe("regression_metric", encoder="XLM-RoBERTa-XL", pool="default"),
    "referenceless": Recipe("referenceless_regression_metric", inputs=("mt", "src")),
    "referenceless-rembert": Recipe(
        "referenceless_regression_metric", inputs=("mt", "src"), encoder="RemBERT", pool="max", activations="Mish"
    ),
    "ranking": Recipe("ranking_metric", layer_norm=True, gamma=0.6),
    "ranking-max": Recipe("ranking_metric", encoder="BERT", pool="max", layer=2, **SPARSE),
    "kiwi": Recipe(
        "unified_metric",
        inputs=("mt", "src"),
        word_level=True,
        word_layer=4,
        scalars=(-2.0, 0.2, 0.6, 0.5, -1.5),
        **SPARSE,
    ),
    "kiwi-bert": Recipe(
        "unified_metric", inputs=("mt", "src"), encoder="BERT", word_level=True, word_layer=1, layer_norm=True
    ),
    "unite-ref": Recipe("unified_metric", inputs=("mt", "ref"), layer=3, final_activation="Sigmoid", gain=4.0),
    "unite": Recipe("unified_metric", layer_norm=True, activations="Hardswish", gain=2.5),
    "unite-rembert": Recipe("unified_metric", encoder="RemBERT", transformation="sparsemax_patch"),
    "unite-words": Recipe("unified_metric", word_level=True, word_layer=3, encoder="BERT", tag_bias=1.0),
    "xcomet": Recipe(
        "xcomet_metric",
        encoder="XLM-RoBERTa-XL",
        word_layer=4,
        scalars=(-2.0, 0.5, 0.3, 0.6, -1.5),
        **WORDS_OF_THREE,
        **SPARSE,
    ),
    "regression-deberta": Recipe("regression_metric", encoder="DeBERTa", pool="max", layer_norm=True, gain=2.0),
    "unite-deberta": Recipe("unified_metric", encoder="DeBERTa", layer=2, word_level=True, tag_bias=1.0),
    "xcomet-lite": Recipe(
        "xcomet_metric",
        encoder="DeBERTa",
        word_layer=8,
        layers=9,
        sharpness=1.0,
        gain=1.6,
        tag_bias=1.4,
        **WORDS_OF_THREE,
    ),
}
# of a class that unbabel-comet lacks; their candidates are the inputs mt2 and so on
OF_POLY = {
    "polycand": Recipe(POLYCAND, inputs=("mt", "src", "mt2"), gain=2.0),
    "polycand-2": Recipe(POLYCAND, inputs=("mt", "src", "mt2", "mt3"), activations="Sigmoid", gain=8.0, **SPARSE),
    "polycand-ref": Recipe(POLYCAND, inputs=("mt", "src", "mt2", "mt4", "ref"), outputs=3, gain=2.0, layer_norm=True),
    "polycand-none": Recipe(POLYCAND, inputs=("mt", "src"), gain=2.0),
}


WORDS = "the a cat dog sat ran on under mat tree and old red fast home rain river city light slow bird song".split()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?;:'\"-[]()<>/…äöüßéèñçãő"
LETTERS += "абвгдежзийклмнопрстуфхцчшщъыьэюяБВМПСЯ猫犬雨川町光鳥歌老赤走家我们在城里今天下了のがはをにとでした。、ابتحدرسعقكلمنويहिन्दीमेंकआप한국어🙂👍"
FAMILIES = {  # the tokenizer's family, and its special tokens by role
    "XLM-RoBERTa": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
    "BERT": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "RemBERT": {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "DeBERTa": {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"},
}


def tokenizer_family(encoder: str) -> str:
    return encoder if encoder in FAMILIES else "XLM-RoBERTa"


def save_tokenizer(folder: Path, family: str) -> int:
    """Write tokenizer.json, made from a fixed list of pieces, and tokenizer_config.json; gives the number of tokens."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    special = FAMILIES[family]
    if family == "BERT":
        pieces = dict.fromkeys([*special.values(), *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS, "##s"])
        tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=special["unk"]))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    else:
        first = [special[role] for role in special if role != "mask"]
        words = [(f"▁{word}", -5.0) for word in WORDS] + [(f"{word}s", -6.0) for word in WORDS]
        pieces = [(piece, 0.0) for piece in first] + [("▁", -3.0)]
        pieces += [(letter, -6.0 - i / 1000) for i, letter in enumerate(dict.fromkeys(LETTERS))] + words
        pieces += [(special["mask"], 0.0)]
        tokenizer = Tokenizer(models.Unigram(pieces, unk_id=first.index(special["unk"])))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
        )
        tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    cls, sep = special["cls"], special["sep"]
    pair = f"{cls} $A {sep} {sep} $B {sep}" if family == "XLM-RoBERTa" else f"{cls} $A {sep} $B:1 {sep}:1"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=pair,
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (cls, sep)],
    )
    tokenizer.add_special_tokens(
        [AddedToken(token, lstrip=role == "mask" and family != "BERT", special=True) for role, token in special.items()]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {f"{role}_token": token for role, token in special.items()}
    if family == "BERT":
        config |= {"do_lower_case": False}
    else:
        config |= {"bos_token": cls, "eos_token": sep}
    classes = {"BERT": "BertTokenizerFast", "RemBERT": "RemBertTokenizerFast", "DeBERTa": "DebertaV2TokenizerFast"}
    config |= {"tokenizer_class": classes.get(family, "XLMRobertaTokenizerFast"), "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return tokenizer.get_vocab_size()


def encoder_config(recipe: Recipe, vocabulary: int) -> dict:
    """config.json of the recipe's encoder."""
    types = {"BERT": "bert", "MiniLM": "bert", "RemBERT": "rembert", "XLM-RoBERTa-XL": "xlm-roberta-xl"}
    types["DeBERTa"] = "deberta-v2"
    model_type = types.get(recipe.encoder, "xlm-roberta")
    config = {
        "model_type": model_type,
        "vocab_size": vocabulary + 3,  # released models have more rows than tokens
        "hidden_size": recipe.width,
        "num_hidden_layers": recipe.layers,
        "num_attention_heads": recipe.heads,
        "intermediate_size": 2 * recipe.width,
        "hidden_act": "gelu",
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    if model_type.startswith("xlm-roberta"):
        eps = 1e-5
        config |= {"max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": eps}
        config |= {"bos_token_id": 0, "eos_token_id": 2}
    if model_type == "rembert":
        config |= {"input_embedding_size": recipe.width - 8, "output_embedding_size": 2 * recipe.width}
    if model_type == "deberta-v2":
        config |= {"relative_attention": True, "position_buckets": recipe.buckets, "max_relative_positions": -1}
        config |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p"}
        config |= {"position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7}
    return config


def draw(name: str, shape: tuple[int, ...], random: np.random.RandomState, sharpness: float) -> np.ndarray:
    """Random weights of a tensor, spread enough that attention is uneven and every part matters."""
    values = random.standard_normal(shape)
    if "orm." in name:
        return 0.1 * values + name.endswith("weight")
    if "embeddings." in name:
        return 0.7 * values
    if name.endswith("bias"):
        return 0.1 * values
    gain = sharpness if re.search(r"\.(query|key)(_proj)?\.", name) else 1.0
    return gain * values / np.sqrt(shape[-1])


def vectors_of(recipe: Recipe) -> int:
    """How many vectors the head reads."""
    if recipe.kind != POLYCAND:
        return HEADS[recipe.kind]
    candidates, with_reference = len(candidates_of(recipe)), "ref" in recipe.inputs
    return HEADS[POLYCAND] + 5 * candidates + (3 + 2 * candidates) * with_reference


def candidates_of(recipe: Recipe) -> list[int]:
    """The numbers of the candidates that a polycand_metric reads; the first is 2."""
    return [int(name[2:]) for name in recipe.inputs if name not in ("mt", "src", "ref")]


def state_dict(recipe: Recipe, config: dict, seed: int = 7) -> dict:
    """The tensors of the checkpoint by name: the same on every machine and with every library version."""
    import torch

    from ctx_metrics.engine.checkpoint import tensor_shapes

    width, mixed = recipe.width, recipe.layers + 1
    shapes = {f"encoder.model.{name}": shape for name, shape in tensor_shapes(config).items()}
    if recipe.encoder in ("MiniLM", "RemBERT"):  # made with a pooler that nothing reads
        shapes |= {"encoder.model.pooler.dense.weight": (width, width), "encoder.model.pooler.dense.bias": (width,)}
    sizes = [vectors_of(recipe) * width, *recipe.hidden_sizes, recipe.outputs] if recipe.kind in HEADS else []
    for i, (into, out) in enumerate(zip(sizes, sizes[1:])):
        shapes |= {f"estimator.ff.{3 * i}.weight": (out, into), f"estimator.ff.{3 * i}.bias": (out,)}
    if recipe.word_level:
        shapes |= {"hidden2tag.weight": (recipe.labels + 1, width), "hidden2tag.bias": (recipe.labels + 1,)}
    random = np.random.RandomState(seed)  # its stream is frozen, unlike those of torch and of numpy's newer generators
    drawn = {name: draw(name, shapes[name], random, recipe.sharpness) for name in sorted(shapes)}
    if config["pad_token_id"] == 1:  # the padding rows of released XLM-R weights are zero
        for name in ("word", "position"):
            drawn[f"encoder.model.embeddings.{name}_embeddings.weight"][1] = 0
    if sizes:
        last = f"estimator.ff.{3 * len(recipe.hidden_sizes)}"
        drawn[f"{last}.weight"] *= recipe.gain
        drawn[f"{last}.bias"][:] = recipe.bias
    if recipe.word_level:
        drawn["hidden2tag.bias"][0] += recipe.tag_bias
        if recipe.kind == "xcomet_metric":
            drawn["wordloss.weight"] = np.array([0.08, 0.486, 0.505, 0.533])
    if recipe.layer == "mix":
        scalars = recipe.scalars or tuple(0.7 * random.standard_normal(mixed))
        drawn |= {f"layerwise_attention.scalar_parameters.{i}": np.array([s]) for i, s in enumerate(scalars)}
        drawn["layerwise_attention.gamma"] = np.array([recipe.gamma])
        if recipe.dropout:
            drawn["layerwise_attention.dropout_mask"] = np.zeros(mixed)
            drawn["layerwise_attention.dropout_fill"] = np.full(mixed, -1e20)
    return {name: torch.from_numpy(values.astype(np.float32)) for name, values in drawn.items()}


def candidate_flags(recipe: Recipe) -> dict:
    flags = {f"additional_{of}": [False] * 5 for of in ("score_in", "score_out", "translation_in")}
    flags["additional_translation_in"] = [number in candidates_of(recipe) for number in range(2, 7)]
    flags["additional_score_out"] = [number < recipe.outputs - 1 for number in range(5)]
    return {**flags, "use_ref": "ref" in recipe.inputs, "backprop_additional_translation": True}


def hyper_parameters(recipe: Recipe, pretrained: str) -> dict:
    """As unbabel-comet's training writes them, into the checkpoint and into hparams.yaml."""
    common = {
        "nr_frozen_epochs": 0.3,
        "keep_embeddings_frozen": True,
        "optimizer": "AdamW",
        "encoder_learning_rate": 1e-06,
        "learning_rate": 1.5e-05,
        "layerwise_decay": 0.95,
        "encoder_model": recipe.encoder,
        "pretrained_model": pretrained,
        "layer_transformation": recipe.transformation,
        "layer_norm": recipe.layer_norm,
        "loss": "mse",
        "dropout": recipe.dropout,
        "batch_size": 4,
        "train_data": ["data/train.csv"],
        "validation_data": ["data/dev.csv"],
        "hidden_sizes": list(recipe.hidden_sizes),
        "activations": recipe.activations,
        "final_activation": recipe.final_activation,
        "class_identifier": recipe.kind,
    }
    if recipe.kind in SEPARATE:
        found = {**common, "pool": recipe.pool, "layer": recipe.layer}
        if recipe.kind == POLYCAND:
            return found | candidate_flags(recipe)
        if recipe.kind in HEADS:
            return found
        return {
            name: value
            for name, value in found.items()
            if name not in ("hidden_sizes", "activations", "final_activation")
        }
    unified = {"sent_layer": recipe.layer, "word_layer": recipe.word_layer, "loss_lambda": 0.65}
    unified |= {"word_level_training": recipe.word_level, "error_labels": LABELS[: recipe.labels]}
    if recipe.kind == "xcomet_metric":
        return {**common, **unified, "cross_entropy_weights": [0.08, 0.486, 0.505, 0.533]}
    return {**common, **unified, "cross_entropy_weights": None, "input_segments": list(recipe.inputs)}


def build(recipe: Recipe, folder: Path, pretrained: str | None = None) -> Path:
    """Write the checkpoint as an unpacked repository of the hub and give its folder.

    folder/hparams.yaml, folder/checkpoints/model.ckpt in Lightning's layout, and folder/encoder with the encoder's
    config and tokenizer. `pretrained_model` is `pretrained`, by default that folder's absolute path, at which
    unbabel-comet finds it from everywhere; given a name, the files are the same wherever they are made.
    """
    import torch
    import yaml

    encoder = folder / "encoder"
    encoder.mkdir(parents=True)
    (folder / "checkpoints").mkdir()
    config = encoder_config(recipe, save_tokenizer(encoder, tokenizer_family(recipe.encoder)))
    (encoder / "config.json").write_text(json.dumps(config))
    hparams = hyper_parameters(recipe, pretrained or str(encoder.absolute()))
    checkpoint = {
        "epoch": 1,
        "global_step": 10,
        "pytorch-lightning_version": "1.8.2",
        "state_dict": state_dict(recipe, config),
        "loops": {},
        "hparams_name": "kwargs",
        "hyper_parameters": hparams,
    }
    torch.save(checkpoint, folder / "checkpoints" / "model.ckpt")
    shown = {**hparams, "layer_transformation": recipe.yaml_transformation or recipe.transformation}
    (folder / "hparams.yaml").write_text(yaml.safe_dump(shown))
    return folder


def build_lite(folder: Path, target: Path, safetensors: bool = False, **config) -> Path:
    """Write a checkpoint of xCOMET's as xCOMET-lite is published, with its encoder's configuration, or `config`, for config.json.

    The encoder's configuration and tokenizer are in target/encoder; on the hub, they belong to another repository.
    """
    import torch
    from safetensors.torch import save_file

    target.mkdir()
    shutil.copytree(folder / "encoder", target / "encoder")
    (target / "config.json").write_text(json.dumps(config) if config else (folder / "encoder/config.json").read_text())
    if safetensors:
        save_file(read_tensors(folder), target / "model.safetensors")
    else:
        torch.save(read_tensors(folder), target / "pytorch_model.bin")
    return target


def digest(tensors: dict) -> str:
    """Tells whether two state dicts are equal to the bit."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(f"{name} {tuple(tensors[name].shape)} {tensors[name].dtype}".encode())
        total.update(tensors[name].numpy().tobytes())
    return total.hexdigest()


def read_tensors(folder: Path) -> dict:
    import torch

    return torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"]


def main(folder: Path) -> None:
    """Write folder/tiny-NAME for each recipe and for `polycand`, and folder/noenc: tiny-kiwi without the encoder's files."""
    for name in RECIPES:
        print(build(RECIPES[name], folder / f"tiny-{name}", "encoder"))
    print(build(OF_POLY["polycand"], folder / "tiny-polycand", "encoder"))
    print(build(RECIPES["kiwi"], folder / "noenc", "microsoft/infoxlm-large"))
    shutil.rmtree(folder / "noenc" / "encoder")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/comet_checkpoints.py DIR")
    main(Path(sys.argv[1]))
