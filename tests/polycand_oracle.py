"""A polycand_metric's scores by hand: transformers' encoder on plain batches, then the formula of the paper's code."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
import yaml
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel

from ctx_metrics.models.comet.model import sparsemax


class ByHand:
    """The checkpoint in a folder, which pools by the average over all tokens of a text."""

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
        self.vector = cache(lambda text: self.vectors([text]))

    @torch.no_grad()
    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """The texts' vectors [n, width], from one padded batch."""
        padding = self.encoder.config.pad_token_id
        own = [self.tokenizer.encode(text).ids for text in texts]
        longest = max(map(len, own))
        ids = torch.tensor([each + [padding] * (longest - len(each)) for each in own])
        mask = torch.tensor([[1] * len(each) + [0] * (longest - len(each)) for each in own])
        layers = self.encoder(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        if self.given["layer_norm"]:  # over all tokens and dimensions; the tests read one text at a time here
            layers = [(each - each.mean()) / (each.var(correction=0) + 1e-12).sqrt() for each in layers]
        scalars = torch.cat([self.tensors[f"layerwise_attention.scalar_parameters.{k}"] for k in range(len(layers))])
        weights = sparsemax(scalars) if self.given["layer_transformation"] == "sparsemax" else scalars.softmax(0)
        mixed = sum(weight * layer for weight, layer in zip(weights, layers, strict=True))
        mixed = self.tensors["layerwise_attention.gamma"] * mixed
        # a literal <pad> in a text adds nothing, but counts as a token
        return mixed.masked_fill((ids == padding)[..., None], 0.0).sum(1) / mask.sum(1, keepdim=True)

    def features(self, mt, src, candidates, ref=None) -> torch.Tensor:
        """The head's input, from vectors [n, width]."""
        x = torch.cat([mt, src, mt * src, (mt - src).abs()], 1)
        for other in candidates:
            x = torch.cat([x, other, other * src, (other - src).abs(), other * mt, (other - mt).abs()], 1)
        if ref is not None:
            x = torch.cat([x, ref, ref * mt, (ref - mt).abs()], 1)
            for other in candidates:
                x = torch.cat([x, ref * other, (ref - other).abs()], 1)
        return x

    def head(self, x: torch.Tensor) -> torch.Tensor:
        """The scores [n]; a further output would be a candidate's."""
        numbers = sorted({int(name.split(".")[2]) for name in self.tensors if name.startswith("estimator.ff.")})
        for number in numbers:
            x = x @ self.tensors[f"estimator.ff.{number}.weight"].T + self.tensors[f"estimator.ff.{number}.bias"]
            if number != numbers[-1]:
                x = getattr(torch.nn, self.given["activations"])()(x)
        if self.given["final_activation"]:
            x = getattr(torch.nn, self.given["final_activation"])()(x)
        return x[:, 0]

    @torch.no_grad()
    def score(self, source: str, hypothesis: str, candidates: Sequence[str], reference: str | None = None) -> float:
        """The score of a hypothesis beside the candidates, of which the first is the samples' mt2; each text read alone."""
        read = [place for place, flag in enumerate(self.given["additional_translation_in"]) if flag]
        others = [self.vector(candidates[place]) for place in read]
        ref = self.vector(reference) if self.given["use_ref"] else None
        return float(self.head(self.features(self.vector(hypothesis), self.vector(source), others, ref)))


def candidates_beside(hypothesis: str, outputs: Sequence[str], number: int) -> list[str]:
    """The first outputs of a segment that differ from the hypothesis, in the systems' order; then empty texts."""
    found = [each for each in outputs if each != hypothesis][:number]
    return found + [""] * (number - len(found))
