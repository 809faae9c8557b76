"""A trained pairwise model: its folder, its signature, and the probability that one output is better than another.

Guzman, Joty, Marquez and Nakov (2015), "Pairwise Neural Machine Translation Evaluation".
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..engine_options import EngineOptions
from ..errors import InputError, ModelError
from ..models.embedded import FOLDER
from ..models.estimator import Estimator
from ..models.folder import CONFIG, FIELDS, check_fields, encoder_of, load_network, read_config
from ..models.hub import EMBEDDED, LEARNED, ResolvedModel, hub_folder
from ..models.load import ModelKind, ModelName
from ..opening import file_sha256
from ..wording import metric_with_model
from .network import PairwiseNetwork, Shape, mean_probability
from .scaling import project, scale
from .sentence_vectors import SentenceVectors, VectorSource, parse_source

MODEL_TYPE = "ctx-pairwise"
EMBEDDED_FOLDER = FOLDER / "pairwise"
OWN_FIELDS: dict[str, Any] = {
    "encoder": (str, type(None)),
    "encoder_ckpt": (str, type(None)),
    "features": list,
    "vectors": list,
}
FEATURE = {"spec": str, "columns": int, "signature": str}
VECTOR = {
    "spec": str,
    "width": int,
    "dimensions": (int, type(None)),
    "path": (str, type(None)),
    "sha256": (str, type(None)),
}


@dataclass(frozen=True)
class Outputs:
    """Outputs in the form that a pairwise network reads.

    terms       contribution of each output's sentence vector to the network's groups: fp64 [outputs, terms]
    features    scaled features: fp64 [outputs, features]
    """

    terms: torch.Tensor
    features: torch.Tensor

    def rows(self, rows: np.ndarray) -> "Outputs":
        return Outputs(self.terms[rows], self.features[rows])


class PairwiseNumbers(nn.Module):
    """All parameters of a model: the PCA of each source of sentence vectors, the scaling of the inputs, and the network.

    Inputs are scaled to [-1, 1] by their minimum and maximum in training, and clipped there.

    sources    for each source, the width of its vectors and the number of PCA dimensions (None: no PCA)
    """

    def __init__(self, shape: Shape, sources: Sequence[tuple[int, int | None]], seed: int = 1):
        super().__init__()
        if (total := sum(width if kept is None else kept for width, kept in sources)) != shape.vectors:
            raise InputError(f"sentence vectors have {total} numbers, and the network reads {shape.vectors}")
        self.sources = list(sources)
        for number, (width, kept) in enumerate(self.sources):
            if kept is not None:
                self.register_buffer(f"mean_{number}", torch.zeros(width))
                self.register_buffer(f"components_{number}", torch.zeros(kept, width))
        for name, width in (("vector", shape.vectors), ("feature", shape.features)):
            self.register_buffer(f"{name}_low", torch.zeros(width))
            self.register_buffer(f"{name}_high", torch.zeros(width))
        self.network = PairwiseNetwork(shape, seed)

    def projected(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        """Return the sources' vectors [texts, width], reduced by PCA and concatenated: fp64 [texts, shape.vectors]."""
        parts = [
            of_source
            if kept is None
            else project(of_source, self._number(f"mean_{k}"), self._number(f"components_{k}"))
            for k, (of_source, (_, kept)) in enumerate(zip(vectors, self.sources, strict=True))
        ]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def vectors(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        """Return the texts' vectors as the network reads them: fp64 [texts, shape.vectors] in [-1, 1]."""
        return scale(self.projected(vectors), self._number("vector_low"), self._number("vector_high"))

    def features(self, features: np.ndarray) -> np.ndarray:
        """Return features [..., shape.features] as the network reads them: fp64 in [-1, 1]; NaN stays NaN."""
        return scale(features, self._number("feature_low"), self._number("feature_high"))

    def set(self, name: str, values: np.ndarray) -> None:
        """Set a buffer to values of its shape, rounded to fp32, the precision that the model's folder stores."""
        getattr(self, name).copy_(torch.from_numpy(np.asarray(values, np.float32)))

    def _number(self, name: str) -> np.ndarray:
        return getattr(self, name).double().numpy()


class PairwiseModel:
    """A model that `ctx-metrics train pairwise` wrote: P(the first of two outputs is the better one), given a reference.

    name                embedded (or None), a folder, or a hub name[@revision]
    languages           the languages it is meant for, such as ["en"]; None: any that it can read
    feature_specs       the features it reads, in the syntax of features.parse_features
    """

    def __init__(self, name: str | None = None, options: EngineOptions = EngineOptions()):
        repository, folder = None, EMBEDDED_FOLDER
        if name is not None and name != EMBEDDED:
            folder = Path(os.path.expanduser(name))
            if not name or not folder.is_dir():
                if "/" not in name:
                    raise ModelError(
                        f"no pairwise model {name!r}",
                        fix="name embedded, a folder that `ctx-metrics train pairwise` wrote, or OWNER/NAME of the hub",
                    )
                repository, folder = hub_folder(name, LEARNED)
        config = read_config(folder)
        if config.get("model_type") != MODEL_TYPE:
            raise ModelError(
                f"{name or folder} is not a pairwise model: its config.json has model_type "
                f"{config.get('model_type')!r}",
                fix="name one that `ctx-metrics train pairwise` wrote",
            )
        check_fields(folder, config, {**FIELDS, **OWN_FIELDS})
        for field, kinds in (("features", FEATURE), ("vectors", VECTOR)):
            _check_entries(folder, field, config[field], kinds)
        try:
            self.numbers, ckpt = load_network(folder, config, lambda: _numbers(folder, config))
        except InputError as error:  # sizes that contradict each other
            raise ModelError(f"{folder / CONFIG}: {error}", fix="copy the folder again") from error
        self.network = self.numbers.network.double()
        self.feature_specs = [each["spec"] for each in config["features"]]
        self.feature_signatures = [each["signature"] for each in config["features"]]
        self.languages: list[str] | None = config["languages"]
        self.english_only = self.languages == ["en"]
        embedded = folder == EMBEDDED_FOLDER
        shown = "embedded-pairwise" if embedded else repository or folder.resolve().name
        self.model = ResolvedModel(shown, folder, folder.name[:12] if repository else None, ckpt)
        self.sentence_vectors: SentenceVectors | None = None
        if config["vectors"]:
            if config["encoder"] is not None:
                encoder_of(folder, config)
            sources = _sources(folder, config["vectors"])
            self.sentence_vectors = SentenceVectors(sources, config["encoder"] or EMBEDDED, options)

    def signature(self) -> dict[str, Any]:
        """The entries in the signature; paths are reduced to their last part."""
        shown = [re.sub(r"=[^=]*/([^/,]+)", r"=\1", spec) for spec in self.feature_specs]
        vectors = [] if self.sentence_vectors is None else [source.spec for source in self.sentence_vectors.sources]
        return {
            **self.model.signature(),
            "features": "+".join(shown) or "none",
            **({"vectors": "+".join(vectors)} if vectors else {}),
        }

    def outputs(self, texts: Sequence[str], features: np.ndarray, label: str = "encoding") -> Outputs:
        """Outputs as the network reads them; `features` are fp64 [texts, features], from features.feature_scores."""
        scaled = torch.from_numpy(self.numbers.features(features))
        return Outputs(self.terms(texts, label), scaled)

    @torch.inference_mode()
    def terms(self, texts: Sequence[str], label: str = "encoding") -> torch.Tensor:
        """Return the contribution of each text's sentence vector to the network's groups: fp64 [texts, terms].

        sentence_vectors.counts then holds the counts of unusual texts.
        """
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = np.zeros((len(distinct), 0))
        if self.sentence_vectors is not None:
            vectors = self.numbers.vectors(self.sentence_vectors(list(distinct), label))
        return self.network.terms(torch.from_numpy(vectors))[[distinct[text] for text in texts]]

    @torch.inference_mode()
    def probabilities(self, first: Outputs, second: Outputs, references: torch.Tensor) -> np.ndarray:
        """Return P(first is better), the mean of p(1, 2) and 1 - p(2, 1): fp64 [pairs] in [0, 1].

        Row by row; NaN where a feature is NaN. Exchanging first and second gives exactly 1 minus the result.
        """
        texts = (first.terms, second.terms, references, first.features, second.features)
        return mean_probability(*(logits.numpy() for logits in self.network.both_orders(*texts)))


class PairwiseKind(ModelKind):
    """Pairwise models, which cannot rate a single output."""

    def owns(self, model: ModelName) -> bool:
        return model.config.get("model_type") == MODEL_TYPE

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        raise ModelError(f"{model.name} is a pairwise model: use {metric_with_model('pairwise', model.name)}")


def _check_entries(folder: Path, field: str, entries: list, kinds: Mapping[str, Any]) -> None:
    for entry in entries:
        if not isinstance(entry, dict) or any(
            not isinstance(entry.get(name), kind) or isinstance(entry.get(name), bool) for name, kind in kinds.items()
        ):
            raise ModelError(
                f"{folder / CONFIG}: {field} holds {str(entry)[:60]}, which is not an entry with {', '.join(kinds)}",
                fix="copy the folder again",
            )


def _numbers(folder: Path, config: Mapping) -> PairwiseNumbers:
    network = config["network"]
    if set(network) != {field.name for field in fields(Shape)}:
        raise ModelError(f"{folder / CONFIG}: its network has {', '.join(network)}", fix="copy the folder again")
    if network["features"] != sum(each["columns"] for each in config["features"]):
        raise ModelError(
            f"{folder / CONFIG}: a network of {network['features']} features, but others are named",
            fix="copy the folder again",
        )
    return PairwiseNumbers(Shape(**network), [(each["width"], each["dimensions"]) for each in config["vectors"]])


def _sources(folder: Path, entries: Sequence[Mapping]) -> list[VectorSource]:
    """Return the sources of the sentence vectors; word vectors are looked for in the model's folder, then at their path."""
    sources = []
    for entry in entries:
        if entry["path"] is None:
            sources.append(parse_source(entry["spec"]))
            continue
        beside = folder / os.path.basename(entry["path"])
        path = beside if beside.is_file() else Path(entry["path"])
        if not path.is_file():
            raise ModelError(
                f"{folder} was trained on the word vectors {path}, which are missing",
                fix="copy the file into the folder",
            )
        if (sha256 := file_sha256(path)) != entry["sha256"]:
            raise ModelError(
                f"{path} hashes to {sha256[:12]}, but {folder} was trained on word vectors that hash to "
                f"{str(entry['sha256'])[:12]}",
                fix="copy the right file into the folder",
            )
        sources.append(VectorSource("words", None, str(path), entry["dimensions"]))
    return sources
