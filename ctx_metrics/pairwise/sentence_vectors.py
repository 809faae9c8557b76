"""Sentence vectors: means over a text's tokens in an encoder's layers, or over its words' vectors from a file.

They replace the syntactic vectors and the averaged GloVe vectors of Guzman, Joty, Marquez and Nakov (2015, section 4).
"""

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..engine_options import EngineOptions
from ..errors import InputError
from ..models import hub
from ..models.word_vectors import VectorFile

if TYPE_CHECKING:
    from ..engine.encoder import TextEncoder
    from ..engine.readout import SentenceVector

FLAG = "--vectors"
_ENCODER = re.compile(r"encoder(?:@(?P<layers>\d{1,9}(?:,\d{1,9})*))?(?::(?P<dimensions>\d{1,9}))?", re.ASCII)
_FORMS = "encoder, encoder@LAYER[,LAYER...] or a file of word vectors, each with :DIMENSIONS after it for a PCA"


class VectorSource(NamedTuple):
    """A source of sentence vectors.

    kind          "encoder" or "words"
    layers        encoder layers to average; 0 is the embedding layer. None: the last
    path          file of word vectors; None for the encoder
    dimensions    number of dimensions after PCA; None: no PCA
    """

    kind: str
    layers: tuple[int, ...] | None = None
    path: str | None = None
    dimensions: int | None = None

    @property
    def spec(self) -> str:
        """The source in the syntax of parse_source, with a path reduced to its file name.

        >>> VectorSource("encoder", (3, 4), None, 25).spec, VectorSource("words", None, "data/glove.txt").spec
        ('encoder@3,4:25', 'glove.txt')
        """
        name = "encoder" if self.path is None else os.path.basename(self.path)
        layers = "" if self.layers is None else f"@{','.join(map(str, self.layers))}"
        return name + layers + ("" if self.dimensions is None else f":{self.dimensions}")


def parse_source(text: str) -> VectorSource:
    """Parse a source of sentence vectors: encoder, encoder:50, encoder@0:50, encoder@3,4:25, PATH or PATH:25.

    If the whole text is an existing path, its colon is part of the name; write ./encoder for a file called encoder.

    >>> parse_source("encoder@3,4:25")
    VectorSource(kind='encoder', layers=(3, 4), path=None, dimensions=25)
    """
    layers, path = None, None
    if match := _ENCODER.fullmatch(text):
        number = match["dimensions"]
        layers = match["layers"] and tuple(int(layer) for layer in match["layers"].split(","))
        if layers and len(set(layers)) < len(layers):
            raise InputError(f"{FLAG} {text}: it names a layer twice", fix="name each once")
    else:
        path, _, number = text.rpartition(":")
        if os.path.exists(text) or not (path and re.fullmatch(r"[0-9]{1,9}", number)):
            path, number = text, None
    if number is not None and int(number) < 1:
        raise InputError(
            f"{FLAG} {text}: a PCA keeps at least 1 dimension", fix="leave out the colon to keep all dimensions"
        )
    if path is not None and not os.path.exists(path):
        raise InputError(f"{FLAG}: no file {path!r}", fix=f"name {_FORMS}")
    if path is not None and (not os.path.isfile(path) or not os.access(path, os.R_OK)):
        raise InputError(f"{FLAG} {text}: {path} is not a readable plain file", fix=f"name {_FORMS}")
    return VectorSource("encoder" if path is None else "words", layers or None, path, int(number) if number else None)


class SentenceVectors:
    """Computes the vectors of texts from several sources, before any PCA.

    encoder    "embedded", a folder, or a hub name[@revision]; only loaded if a source needs it
    counts     counts of the last call over distinct texts: "words" (looked up in files), "unknown_words" (those without a
               vector), "truncated" (texts too long for the encoder)

    The layers needed are announced to the encoder at once, so that metrics with the same encoder share a pass.
    """

    def __init__(
        self, sources: Sequence[VectorSource], encoder: str = hub.EMBEDDED, engine: EngineOptions = EngineOptions()
    ):
        self.sources = list(sources)
        self.counts = dict.fromkeys(("unknown_words", "words", "truncated"), 0)
        self._model = self._encoder = None
        self._readouts: dict = {}  # {tuple of layers: readout}
        if layers := dict.fromkeys(source.layers for source in self.sources if source.kind == "encoder"):
            from ..engine.encoder import shared_encoder

            self._model = hub.resolve(encoder)
            self._encoder = shared_encoder(self._model.folder, engine)
            self._readouts = {each: _readout(each, self._encoder.layers) for each in layers}
            self._encoder.require(self._readouts.values())
        self._files = {
            path: VectorFile(path, engine.quiet, unit=False)
            for path in dict.fromkeys(source.path for source in self.sources if source.path is not None)
        }

    def signature(self) -> dict:
        signature = self._model.signature() if self._model else {}
        of_files = [file.signature() for file in self._files.values()]
        if of_files:
            signature |= {key: "+".join(each[key] for each in of_files) for key in of_files[0]}
        return signature

    def __call__(self, texts: Sequence[str], label: str = "sentence vectors") -> list[np.ndarray]:
        """Return the vectors of texts: fp32 [texts, width] for each source, in the sources' order.

        An encoder's vector is the mean over all tokens, including special ones, of the mean of the source's layers; one
        pass computes all layers. A vector of words is the mean over the text's 13a tokens; each is looked up in its own
        case first, then in lower case. A text without tokens, or without a known word, gets zeros.
        """
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(rows)
        self.counts = dict.fromkeys(self.counts, 0)
        encoded = self._encoded(distinct, label)
        of_words = {path: self._of_words(file, distinct) for path, file in self._files.items()}
        of_sources = [
            encoded[source.layers] if source.path is None else of_words[source.path] for source in self.sources
        ]
        if len(distinct) == len(texts):
            return of_sources
        order = [rows[text] for text in texts]
        return [vectors[order] for vectors in of_sources]

    def _encoded(self, texts: list[str], label: str) -> dict[tuple[int, ...] | None, np.ndarray]:
        """Return the vectors for each tuple of layers."""
        encoder = self._encoder
        if encoder is None:
            return {}
        vectors = {layers: np.zeros((len(texts), encoder.width), np.float32) for layers in self._readouts}
        tokens = encoder.tokenizer(texts)
        self.counts["truncated"] = sum(text.cut > 0 for text in tokens)
        full = np.flatnonzero([text.content > 0 for text in tokens])
        with encoder.progress(label, len(full)):
            for block in _blocks(encoder, full, [len(text.ids) for text in tokens]):
                states = encoder.encode([tokens[row] for row in block], self._readouts.values())
                for row, of_text in zip(block, states, strict=True):
                    for layers, readout in self._readouts.items():
                        vectors[layers][row] = of_text[readout]
        return vectors

    def _of_words(self, file: VectorFile, texts: list[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), file.dimensions), np.float32)
        for row, of_text in enumerate(file(texts)):
            known = [vector for vector in of_text if vector is not None]
            self.counts["words"] += len(of_text)
            self.counts["unknown_words"] += len(of_text) - len(known)
            if known:
                vectors[row] = np.mean(known, axis=0, dtype=np.float64)
        return vectors


def _blocks(encoder: "TextEncoder", rows: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    """Split rows into consecutive blocks whose embeddings fit the store's bound, or exceed it by one text at most."""
    if not len(rows):
        return []
    bytes_a_token = 4 * encoder.width * encoder.required_mixes
    used = np.cumsum(np.array(lengths, np.int64)[rows]) * bytes_a_token
    return np.split(rows, np.flatnonzero(np.diff(used // max(1, encoder.store.limit))) + 1)


def _readout(layers: tuple[int, ...] | None, depth: int) -> "SentenceVector":
    """Return the readout for the mean over tokens of the mean of layers (None: the last), for a depth of `depth` layers."""
    from ..engine.readout import SentenceVector

    layers = (depth,) if layers is None else layers
    if max(layers) > depth:
        raise InputError(f"{FLAG} encoder@{max(layers)}: the encoder has the layers 0 to {depth}")
    weights = tuple(1 / len(layers) if layer in layers else 0.0 for layer in range(depth + 1))
    return SentenceVector(weights, "avg")
