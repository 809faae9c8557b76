"""A polycand_metric's scores by hand: transformers' encoder on one text at a time, then the formula of the paper's code."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
import yaml
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel

from ctx_metrics.models.comet.model import sparsemax


class ByHand:
    """The checkpoint in a folder, whose average is over all tokens of a text, at most `most`."""

    def __init__(self, folder: Path):
        loaded = torch.load(folder / "checkpoints" / "model.ckpt", weights_only=True)
        self.tensors, self.given = loaded["state_dict"], loaded["hyper_parameters"]
        assert yaml.safe_load((folder / "hparams.yaml").read_text())["class_identifier"] == "polycand_metric"
        config = AutoConfig.from_pretrained(folder / "encoder")
        self.encoder = AutoModel.from_config(config, add_pooling_layer=False).eval()
        own = {name.removeprefix("encoder.model."): each for name, each in self.tensors.items() if "encoder" in name}
        missing, unexpected = self.encoder.load_state_dict(own, strict=False)
        assert not unexpected and all("position_ids" in name for name in missing)
        self.tokenizer = Tokenizer.from_file(str(folder / "encoder" / "tokenizer.json"))
        self.tokenizer.enable_truncation(config.max_position_embeddings - 4)
        self.vector = cache(self._vector)

    @torch.no_grad()
    def _vector(self, text: str) -> torch.Tensor:
        ids = torch.tensor([self.tokenizer.encode(text).ids])
        layers = torch.stack(self.encoder(input_ids=ids, output_hidden_states=True).hidden_states)[:, 0]
        if self.given["layer_norm"]:  # over all tokens and dimensions, as in AllenNLP's scalar mix
            layers = (layers - layers.mean((1, 2), True)) / (
                layers.var((1, 2), correction=0, keepdim=True) + 1e-12
            ).sqrt()
        scalars = torch.cat([self.tensors[f"layerwise_attention.scalar_parameters.{k}"] for k in range(len(layers))])
        weights = sparsemax(scalars) if self.given["layer_transformation"] == "sparsemax" else scalars.softmax(0)
        mixed = self.tensors["layerwise_attention.gamma"] * (weights[:, None, None] * layers).sum(0)
        padding = ids[0] == self.encoder.config.pad_token_id  # a literal <pad>, which counts as a token
        return mixed.masked_fill(padding[:, None], 0.0).sum(0) / len(mixed)

    @torch.no_grad()
    def score(self, source: str, hypothesis: str, candidates: Sequence[str], reference: str | None = None) -> float:
        """The score of a hypothesis beside the candidates, of which the first is the samples' mt2."""
        mt, src = self.vector(hypothesis), self.vector(source)
        read = [place for place, flag in enumerate(self.given["additional_translation_in"]) if flag]
        others = [self.vector(candidates[place]) for place in read]
        x = torch.cat([mt, src, mt * src, (mt - src).abs()])
        for other in others:
            x = torch.cat([x, other, other * src, (other - src).abs(), other * mt, (other - mt).abs()])
        if self.given["use_ref"]:
            ref = self.vector(reference)
            x = torch.cat([x, ref, ref * mt, (ref - mt).abs()])
            for other in others:
                x = torch.cat([x, ref * other, (ref - other).abs()])
        numbers = sorted({int(name.split(".")[2]) for name in self.tensors if name.startswith("estimator.ff.")})
        for number in numbers:
            x = self.tensors[f"estimator.ff.{number}.weight"] @ x + self.tensors[f"estimator.ff.{number}.bias"]
            if number != numbers[-1]:
                x = getattr(torch.nn, self.given["activations"])()(x)
        if self.given["final_activation"]:
            x = getattr(torch.nn, self.given["final_activation"])()(x)
        return float(x[0])


def candidates_beside(hypothesis: str, outputs: Sequence[str], number: int) -> list[str]:
    """The first outputs of a segment that differ from the hypothesis, in the systems' order; then empty texts."""
    found = [each for each in outputs if each != hypothesis][:number]
    return found + [""] * (number - len(found))
