"""Small folders of quality models that are low-rank changes of an encoder, each opened like a COMET checkpoint.

model.safetensors    the encoder's changes, as NAME.down [r, m] and NAME.up [n, r] of a linear layer NAME.weight [n, m]; its
                     learned vectors; the constants that standardise the token matching; and the head, under the names of
                     COMET's UnifiedMetric; matrices are in fp16
config.json          the model they belong to: the encoder and its hash, the rank, the inputs, the hash of the weights
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ...engine.checkpoint import EncoderFolder, Tensors, check_shapes, checked_tensor, load_file, tensor_shapes
from ...engine.matching import OTHERS
from ...errors import ModelError
from ...language import primary
from ...opening import LazyMapping, file_hashes, identity, same_hashes
from ..estimator import EMBEDDED_REFERENCELESS, EMBEDDED_UNIFIED
from ..folder import CONFIG, WEIGHTS, cannot_be, check_fields, checked_weights, encoder_of, model_type, read_config
from ..hub import ResolvedModel
from .checkpoint import ADAPTED_KIND, HEAD_LAYER, INPUTS, SEPARATORS, Hyperparameters

# Fields of config.json that loading reads, and their types.
FIELDS: dict[str, Any] = {
    "encoder": str,
    "encoder_ckpt": str,
    "encoder_model": str,
    "languages": (list, type(None)),
    "rank": int,
    "inputs": str,
    "shares": list,
    "weights_sha256": str,
}
_PLAIN = str.maketrans(dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛‹›", "'"))


class MatchFeatures(nn.Module):
    """Recall and precision at some layers as a head reads them: standardised, and 0 if there is no text to match."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, layers: Sequence[int]):
        super().__init__()
        self.layers = tuple(layers)
        self.number = OTHERS * 2 * len(self.layers)
        self.register_buffer("mean", torch.zeros(self.number))
        self.register_buffer("deviation", torch.ones(self.number))

    def forward(self, matched: torch.Tensor) -> torch.Tensor:
        """The features, fp32 [n, number], of engine.matching's results [n, OTHERS, layers, 2], the source's first."""
        flat = matched.flatten(1)
        return torch.where(flat == 0, 0.0, (flat - self.mean) / self.deviation)


def matched_layers(layers: int) -> tuple[int, ...]:
    """The layers at which tokens are matched: at one third, at two thirds, and the last.

    >>> matched_layers(12)
    (4, 8, 12)
    """
    return tuple(sorted({layers // 3, 2 * layers // 3, layers}))


class AdaptedCheckpoint:
    """Such a folder, with the interface of models.comet.checkpoint.CometCheckpoint; changes are merged as they are read."""

    def __init__(self, folder: Path):
        self._described = config = read_config(folder)
        check_fields(folder, config, FIELDS, "train comet --inputs")
        for name, choices in (("encoder_model", SEPARATORS), ("inputs", INPUTS)):
            if config[name] not in choices:
                raise cannot_be(folder, name, repr(config[name])[:60])
        self.shares: list[float] = config["shares"]  # in the score, of the regressions on source, reference and both
        numbers = [each for each in self.shares if isinstance(each, (int, float)) and each >= 0]
        if len(numbers) != 3 or len(self.shares) != 3 or abs(sum(numbers) - 1) > 1e-6:
            raise cannot_be(folder, "shares", repr(self.shares)[:60])
        self.tagged: bool = config.get("tag", False)  # whether it has learned to read language_tag before a hypothesis
        if not isinstance(self.tagged, bool):
            raise cannot_be(folder, "tag", repr(self.tagged)[:60])
        self.plain_quotes: bool = config.get("plain_quotes", False)  # whether it reads plain_quotes of each text
        if not isinstance(self.plain_quotes, bool):
            raise cannot_be(folder, "plain_quotes", repr(self.plain_quotes)[:60])
        self.root, self.file = folder, folder / WEIGHTS
        self.languages: list[str] | None = config["languages"]
        self.source_languages: list[str] | None = config.get("source_languages")
        if not isinstance(self.source_languages, (list, type(None))):
            raise cannot_be(folder, "source_languages", repr(self.source_languages)[:60])
        encoder = encoder_of(folder, config)
        checked_weights(folder, config)
        self._hashes = file_hashes([self.file, folder / CONFIG])
        self._encoder = EncoderFolder(encoder.folder)
        self.folder, self.config = encoder.folder, self._encoder.config
        embedded = "embedded-" * (folder in (EMBEDDED_UNIFIED, EMBEDDED_REFERENCELESS))
        name = f"{embedded}{folder.resolve().name}"
        self.model = ResolvedModel(name, folder, None, identity(self._hashes, folder))
        self.hyperparameters = Hyperparameters(
            class_identifier="unified_metric",
            encoder_model=config["encoder_model"],
            pretrained_model=config["encoder"],
            pool="avg",
            layer="mix",
            layer_transformation="softmax",
            layer_norm=False,
            activations="Tanh",
            final_activation=None,
            input_segments=tuple(config["inputs"].split("+")),
            word_level=False,
            word_layer=None,
            error_labels=(),
        )
        tensors = dict(load_file(self.file))
        of_head = [name for name in tensors if name.startswith(("estimator.", "layerwise_attention."))]
        self.head = {name: self._checked(tensors.pop(name), name) for name in of_head}
        self.matching = MatchFeatures(matched_layers(self.config["num_hidden_layers"]))
        self._changes = {n: self._checked(tensor, n) for n, tensor in tensors.items()}
        self._check_shapes(config["rank"])
        self.matching.load_state_dict({name: self._changes.pop(f"matching.{name}") for name in ("mean", "deviation")})

    def _checked(self, tensor: Any, name: str) -> torch.Tensor:
        return checked_tensor(tensor, name, path=self.file, fix="train the model again").float()

    def _check_shapes(self, rank: int) -> None:
        wanted: dict[str, tuple[int, ...]] = {}
        for name, shape in tensor_shapes(self.config).items():
            stem = name.removesuffix(".weight")
            if name.startswith("embeddings."):
                continue
            if len(shape) == 2:
                wanted |= {f"{stem}.down": (rank, shape[1]), f"{stem}.up": (shape[0], rank)}
            else:
                wanted[name] = shape
        layers = self.config["num_hidden_layers"] + 1
        wanted |= {f"layerwise_attention.scalar_parameters.{k}": (1,) for k in range(layers)}
        wanted["layerwise_attention.gamma"] = (1,)
        wanted |= {f"matching.{name}": (self.matching.number,) for name in ("mean", "deviation")}
        # the sizes of the head's layers are checked when the head is built
        others = {name: tensor for name, tensor in self.head.items() if not HEAD_LAYER.fullmatch(name)}
        if len(others) == len(self.head):
            raise ModelError(f"{self.file} lacks the head, estimator.ff.0.weight and more", fix="copy the folder again")
        check_shapes(self.file, {**self._changes, **others}, wanted)

    @property
    def learned(self) -> dict[str, torch.Tensor]:
        """The changes and the head as they are stored, without the constants of the token matching."""
        return {**self._changes, **self.head}

    def weights(self) -> Tensors:
        return _Merged(self._encoder.weights(), self._changes)

    def is_current(self) -> bool:
        ours = [self.file, self.root / CONFIG]
        return self._encoder.is_current() and same_hashes(self._hashes, lambda: file_hashes(ours))

    def resolved(self) -> ResolvedModel:
        return self.model

    def release(self) -> None:
        """Do nothing: this holds only the learned weights, which are small."""


class _Merged(LazyMapping[str, Any]):
    """An encoder's tensors with low-rank changes added to some, and others replaced."""

    def __init__(self, tensors: Tensors, changes: Mapping[str, torch.Tensor]):
        super().__init__(tensors)
        self._changes = changes

    def __getitem__(self, name: str) -> Any:
        if name in self._changes:
            return self._changes[name]
        stem = name.removesuffix(".weight")
        if (down := self._changes.get(f"{stem}.down")) is None:
            return self._parts[name]
        return self._parts[name].float() + self._changes[f"{stem}.up"] @ down


def language_tag(language: str | None) -> str:
    """The words that state the language of the hypothesis that follows them; none if it is unknown.

    >>> language_tag("pt_BR"), language_tag(None)
    ('pt: ', '')
    """
    return f"{code}: " if (code := primary(language)) else ""


def plain_quotes(text: str) -> str:
    """The text with one style of quotation marks and of apostrophes; its length stays.

    >>> print(plain_quotes("„Ja“, «oui», it’s"))
    "Ja", "oui", it's
    """
    return text.translate(_PLAIN)


def is_adapted(folder: Path) -> bool:
    return model_type(folder) == ADAPTED_KIND
