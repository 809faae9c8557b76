"""Random COMET checkpoints of the released models' shape, for the benchmarks: no network, no unbabel-comet needed.

    python benchmarks/comet_fixture.py CACHE --kind KIND --size SIZE --texts FILE [--seed 0]

Writes CACHE/<kind>-<size>-<hash>/ (encoder/, hparams.yaml, checkpoints/model.ckpt) and prints it; one that is there already
is used again. The tokenizer is trained on FILE, one text a line, so that texts have realistic lengths in tokens. `base` and
`large` have XLM-R's width, depth and table of 250,002 words, `small` the shape of multilingual-e5-small. The others have a
small table: `tiny` for tests; `deep`, like `small`, for scores; `odd`, whose heads of 26 are no multiple of 8; `host`, whose
network takes so little time that the rest can be measured. The weights are spread wide enough for scores to differ.
"""

import argparse
import hashlib
import json
from pathlib import Path

import torch
import yaml
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from ctx_metrics.engine.checkpoint import tensor_shapes

VOCABULARY = 16000
POSITIONS = 514  # XLM-R's 512, counted from 2
XLMR = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
DEBERTA = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
# layers, width, attention heads, inner width, rows of the word table (None: the tokenizer's), head, spread of the weights
SIZES = {
    "tiny": (2, 32, 4, 64, None, [24, 16], 0.35),
    "deep": (12, 384, 12, 1536, None, [384, 192], 0.06),
    "odd": (4, 312, 12, 624, None, [312, 156], 0.07),
    "host": (1, 1024, 16, 64, None, [8, 8], 0.05),
    "small": (12, 384, 12, 1536, 250002, [384, 192], 0.06),
    "base": (12, 768, 12, 3072, 250002, [3072, 1024], 0.04),
    "large": (24, 1024, 16, 4096, 250002, [3072, 1024], 0.035),
}
# kind: its class in hparams.yaml, and the vectors of `width` that its head reads
KINDS = {
    "regression": ("regression_metric", 6),
    "referenceless": ("referenceless_regression_metric", 4),
    "unified-qe": ("unified_metric", 1),
    "xcomet": ("xcomet_metric", 1),
    "xcomet-lite": ("xcomet_metric", 1),  # on an encoder like mDeBERTa
    "ranking": ("ranking_metric", 0),
    "polycand": ("polycand_metric", 14),  # with two candidates
}


def train_tokenizer(texts: list[str], folder: Path, deberta: bool = False) -> int:
    """Write XLM-R's or DeBERTa's kind of tokenizer, with its special tokens, trained on `texts`; returns its size."""
    first, pad, last, unknown, mask = DEBERTA if deberta else XLMR
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=[first, pad, last, unknown], unk_token=unknown, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([mask])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B {last}" if deberta else f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, 0), (last, 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"bos": first, "cls": first, "eos": last, "sep": last, "pad": pad, "unk": unknown, "mask": mask}
    settings = {f"{name}_token": token for name, token in names.items()}
    kind = "DebertaV2Tokenizer" if deberta else "XLMRobertaTokenizer"
    settings.update(tokenizer_class=kind, model_max_length=POSITIONS - 2)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return tokenizer.get_vocab_size()


def encoder_config(size: str, vocabulary: int, deberta: bool = False) -> dict:
    """config.json of an XLM-R encoder of this size, or of one like mDeBERTa."""
    layers, width, heads, inner, words, _, _ = SIZES[size]
    config = {
        "model_type": "xlm-roberta",
        "architectures": ["XLMRobertaModel"],
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "hidden_act": "gelu",
        "vocab_size": words or vocabulary,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 1,
        "layer_norm_eps": 1e-5,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
    }
    if deberta:
        config |= {"model_type": "deberta-v2", "architectures": ["DebertaV2Model"], "max_position_embeddings": 512}
        config |= {"type_vocab_size": 0, "layer_norm_eps": 1e-7, "relative_attention": True, "position_buckets": 256}
        config |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p"}
        config |= {"position_biased_input": False, "max_relative_positions": -1}
    return config


def random_weights(kind: str, size: str, config: dict, seed: int) -> dict[str, torch.Tensor]:
    """The state dict of such a COMET model, fp32."""
    layers, width, *_, head, spread = SIZES[size]
    generator = torch.Generator().manual_seed(seed)
    tensors: dict[str, torch.Tensor] = {}

    def normal(*shape, std):
        return torch.empty(shape).normal_(0, std, generator=generator)

    def linear(name, rows, columns):
        tensors[f"{name}.weight"] = normal(rows, columns, std=columns**-0.5)
        tensors[f"{name}.bias"] = normal(rows, std=0.02)

    for name, shape in tensor_shapes(config).items():
        if "LayerNorm" in name:
            drawn = name.endswith("weight") + normal(*shape, std=0.1)
        elif "embeddings" in name:
            drawn = normal(*shape, std=max(spread, 0.05))
            drawn[1:2] = 0  # the padding's row, as released
        else:
            drawn = normal(*shape, std=spread if name.endswith("weight") else 0.02)
        tensors[f"encoder.model.{name}"] = drawn
    mix = "layerwise_attention"
    tensors[f"{mix}.gamma"] = torch.full((1,), 0.9)
    tensors[f"{mix}.dropout_mask"] = torch.zeros(layers + 1)
    tensors[f"{mix}.dropout_fill"] = torch.full((layers + 1,), -1e20)
    for number in range(layers + 1):
        tensors[f"{mix}.scalar_parameters.{number}"] = normal(1, std=0.7)
    columns = KINDS[kind][1] * width
    for place, rows in zip((0, 3, 6), (*head, 1), strict=True) if columns else ():
        linear(f"estimator.ff.{place}", rows, columns)
        columns = rows
    labels = hyper_parameters(kind, size, Path()).get("error_labels", [])
    if labels:
        linear("hidden2tag", 1 + len(labels), width)
    if kind.startswith("xcomet"):
        tensors["hidden2tag.bias"][0] += 1.2  # most tokens are no errors
        tensors["wordloss.weight"] = torch.tensor([0.08, 0.486, 0.505, 0.533])
    return tensors


def hyper_parameters(kind: str, size: str, encoder: Path) -> dict:
    """What unbabel-comet keeps of how such a model was trained; its values are those of the released models."""
    layers, *_, head, _ = SIZES[size]
    common = {
        "nr_frozen_epochs": 0.3,
        "keep_embeddings_frozen": True,
        "optimizer": "AdamW",
        "warmup_steps": 0,
        "encoder_learning_rate": 1e-6,
        "learning_rate": 1.5e-5,
        "layerwise_decay": 0.95,
        "encoder_model": "XLM-RoBERTa",
        "pretrained_model": str(encoder),
        "layer_transformation": "sparsemax_patch",
        "layer_norm": False,
        "loss": "mse",
        "dropout": 0.1,
        "batch_size": 4,
        "hidden_sizes": head,
        "activations": "Tanh",
        "final_activation": None,
    }
    if kind in ("regression", "referenceless"):
        return {**common, "pool": "avg", "layer": "mix"}
    if kind == "ranking":
        without = {name: value for name, value in common.items() if name not in ("hidden_sizes", "activations")}
        del without["final_activation"]
        return {**without, "layer_transformation": "softmax", "layer_norm": True, "pool": "avg", "layer": "mix"}
    if kind == "polycand":
        none = [False] * 5
        flags = {"additional_translation_in": [True, True, *none[2:]], "use_ref": False}
        flags |= {"additional_score_in": none, "additional_score_out": none}
        return {**common, "layer_transformation": "sparsemax", "pool": "avg", "layer": "mix", **flags}
    unified = {**common, "sent_layer": "mix", "word_layer": layers, "word_level_training": True, "loss_lambda": 0.65}
    if kind == "xcomet-lite":
        unified |= {"encoder_model": "DeBERTa", "word_layer": min(8, layers)}
    if kind.startswith("xcomet"):
        labels = {"error_labels": ["minor", "major", "critical"], "cross_entropy_weights": [0.08, 0.486, 0.505, 0.533]}
        return {**unified, **labels, "input_segments": ["mt", "src", "ref"]}
    return {
        **unified,
        "input_segments": ["mt", "src"],
        "error_labels": ["minor", "major"],
        "cross_entropy_weights": None,
    }


def build_checkpoint(cache: Path, kind: str, size: str, texts: list[str], seed: int = 0) -> Path:
    """The folder of such a checkpoint under `cache`, made unless it is there; `texts` train its tokenizer."""
    # the checkpoint names its encoder by an absolute path, so one that was moved is made anew
    identity = "\n".join([str(cache.resolve()), str(seed), str(VOCABULARY), *texts])
    folder = cache.resolve() / f"{kind}-{size}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
    encoder, settings = folder / "encoder", folder / "hparams.yaml"
    if settings.exists():  # written last: the folder is whole
        return folder
    for part in (encoder, folder / "checkpoints"):
        part.mkdir(parents=True, exist_ok=True)
    deberta = kind == "xcomet-lite"
    config = encoder_config(size, train_tokenizer(texts, encoder, deberta), deberta)
    (encoder / "config.json").write_text(json.dumps(config))
    parameters = hyper_parameters(kind, size, encoder)
    weights = random_weights(kind, size, config, seed)
    torch.save(
        {
            "epoch": 0,
            "global_step": 0,
            "pytorch-lightning_version": "2.0.0",
            "state_dict": weights,
            "loops": {},
            "hparams_name": "kwargs",
            "hyper_parameters": parameters,
        },
        folder / "checkpoints" / "model.ckpt",
    )
    settings.write_text(yaml.safe_dump({**parameters, "class_identifier": KINDS[kind][0]}))
    return folder


def main() -> None:
    """Build one checkpoint and print its folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="regression")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    texts = [text for text in args.texts.read_text(encoding="utf-8").split("\n") if text.strip()]
    print(build_checkpoint(args.cache, args.kind, args.size, texts, args.seed))


if __name__ == "__main__":
    main()
