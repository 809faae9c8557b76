"""Random BLEURT-20 checkpoints with a small SentencePiece model, and transformers' RemBERT as the oracle of their scores."""

import io
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

MOST = 512
FIELDS = "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "embedding_size"
SIZES = {"tiny": (36, 3, 3, 40, 16), "base": (768, 12, 12, 3072, 128)}
TEXTS = [
    "The cat sat on the mat, and the dog looked at it.",
    "Die Katze sitzt auf der Matte.",
    "Кошка сидит на коврике.",
    "猫がマットの上に座っている。",
    "قطة تجلس على السجادة",
    "A dog barked at the cat all night.",
]
ACTS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh"}
Pair = tuple[str, str]  # hypothesis, reference


def pieces(texts: Sequence[str]) -> bytes:
    """A small SentencePiece model with BLEURT's special tokens."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([*TEXTS, *texts] * 3),
        model_writer=written,
        vocab_size=500,
        hard_vocab_limit=False,
        character_coverage=1.0,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        pad_piece="[PAD]",
        unk_piece="[UNK]",
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()


def make(folder: Path, size: str = "tiny", act: str = "gelu", seed: int = 1, texts: Sequence[str] = TEXTS) -> Path:
    """Write a checkpoint in the port's form, whose scores of pairs of these texts spread from about 0 to 1."""
    from transformers import RemBertForSequenceClassification

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spm.model").write_bytes(pieces(texts))
    rows = SentencePieceProcessor(model_proto=pieces(texts)).GetPieceSize() + 7
    stated = {
        "architectures": ["BleurtForSequenceClassification"],
        "model_type": "bleurt",
        "hidden_act": act,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": MOST,
        "type_vocab_size": 2,
        "vocab_size": 120300 if size == "base" else rows,
        "pad_token_id": 0,
        "num_labels": 1,
        **dict(zip(FIELDS, SIZES[size], strict=True)),
    }
    (folder / "config.json").write_text(json.dumps(stated))
    network = RemBertForSequenceClassification(_config(stated, act)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if "LayerNorm" in name or name.endswith("bias"):
                parameter.add_(drawn * 0.1)
            else:
                parameter.copy_(drawn if "embeddings" in name else drawn / parameter.shape[1] ** 0.5)
        pooled = torch.stack([_pooled(network, sequence(folder, pair)) for pair in zip(texts, texts[1:], strict=False)])
        # scores spread along the pooled states' main direction
        mean = pooled.mean(0)
        along = (pooled - mean) @ (direction := torch.linalg.svd(pooled - mean)[2][0])
        weight = direction / (along.max() - along.min())
        network.classifier.weight[:] = weight
        network.classifier.bias[:] = -(pooled @ weight).min()
    tensors = {_ported(name): tensor.clone() for name, tensor in network.state_dict().items()}
    tensors["bleurt.embeddings.position_ids"] = torch.arange(MOST)[None]  # a buffer, which the port writes too
    save_file(tensors, folder / "model.safetensors")
    return folder


def _config(stated: dict, act: str):
    from transformers import RemBertConfig

    wanted = {name: value for name, value in stated.items() if name not in ("architectures", "model_type")}
    return RemBertConfig(
        **wanted | {"input_embedding_size": stated["embedding_size"], "hidden_act": act, "classifier_dropout_prob": 0.0}
    )


def _ported(name: str) -> str:
    """RemBERT's name of a tensor as the port has it."""
    return name.replace("rembert.", "bleurt.").replace("embedding_hidden_mapping_in", "embedding_projection")


def sequence(folder: Path, pair: Pair) -> tuple[list[int], list[int]]:
    """Token ids and types of a pair, cut token by token as Google's code cuts them."""
    own = _opened_pieces(folder)
    hypothesis, reference = (own.encode(text) for text in pair)
    while len(hypothesis) + len(reference) > MOST - 3:
        (reference if len(reference) > len(hypothesis) else hypothesis).pop()
    start, end = own.PieceToId("[CLS]"), own.PieceToId("[SEP]")
    types = [0] * (len(reference) + 2) + [1] * (len(hypothesis) + 1)
    return [start, *reference, end, *hypothesis, end], types


@cache
def _opened_pieces(folder: Path) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(folder / "spm.model"))


def _pooled(network, given: tuple[list[int], list[int]]) -> torch.Tensor:
    ids, types = (torch.tensor([each]) for each in given)
    return network.rembert(input_ids=ids, token_type_ids=types).pooler_output[0]


@cache
def opened(folder: Path, act: str):
    from transformers import RemBertForSequenceClassification

    network = RemBertForSequenceClassification(_config(json.loads((folder / "config.json").read_text()), act)).eval()
    stored = load_file(folder / "model.safetensors")
    network.load_state_dict({name: stored[_ported(name)] for name in network.state_dict()})
    return network


@torch.no_grad()
def oracle(folder: Path, pairs: Sequence[Pair], activation: str = "gelu") -> list[float]:
    """Scores by transformers' network of pairs (hypothesis, reference), one at a time."""
    network = opened(folder, ACTS[activation])
    found = []
    for pair in pairs:
        ids, types = (torch.tensor([each]) for each in sequence(folder, pair))
        found.append(float(network(input_ids=ids, token_type_ids=types).logits))
    return found


def forget() -> None:
    """Give back the memory of the oracle's networks."""
    opened.cache_clear()
