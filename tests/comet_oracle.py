"""What unbabel-comet's own predict says of the checkpoints, and the file that stores it.

`python tests/comet_oracle.py` writes tests/data/comet_scores.json anew; it needs unbabel-comet.
"""

import json
import logging
import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from comet_agreement import STORED, input_choices
from comet_checkpoints import RECIPES, build, digest, read_tensors
from comet_texts import TEXTS

SPAN = ("text", "severity", "confidence", "start", "end")
PARTS = ("src", "ref", "unified", "mqm")


def add_deberta() -> None:
    """Give unbabel-comet the encoder of xCOMET-lite: transformers' DeBERTa, with one separator between texts."""
    import comet.encoders
    from comet.encoders.base import Encoder
    from comet.encoders.bert import BERTEncoder
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    class DebertaEncoder(BERTEncoder):
        def __init__(self, pretrained_model: str):
            Encoder.__init__(self)
            self.tokenizer = AutoTokenizer.from_pretrained(pretrained_model)
            self.model = AutoModel.from_config(AutoConfig.from_pretrained(pretrained_model))

        @classmethod
        def from_pretrained(cls, pretrained_model, load_pretrained_weights=True, local_files_only=False):
            return cls(pretrained_model)

        def forward(self, input_ids, attention_mask, token_type_ids=None, **_):
            found = self.model(input_ids, attention_mask, token_type_ids, output_hidden_states=True)
            words, layers = found.last_hidden_state, found.hidden_states
            return {"sentemb": words[:, 0], "wordemb": words, "all_layers": layers, "attention_mask": attention_mask}

    comet.encoders.str2encoder["DeBERTa"] = DebertaEncoder


def load(folder: Path):
    """The checkpoint in unbabel-comet, all of whose tensors must be the checkpoint's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from comet import load_from_checkpoint
    add_deberta()
    for name in ("pytorch_lightning", "lightning.pytorch", "comet"):  # they tell of every step
        logging.getLogger(name).setLevel(logging.ERROR)
    before = os.getcwd()
    os.chdir(folder)  # the MiniLM encoder asks for the tokenizer "xlm-roberta-base": here it is a folder
    if not Path("xlm-roberta-base").exists():
        Path("xlm-roberta-base").symlink_to("encoder")
    try:
        return load_from_checkpoint(str(folder / "checkpoints" / "model.ckpt"), strict=True, local_files_only=True)
    finally:
        os.chdir(before)


def predict(model, texts: Sequence[tuple[str, str, str]], keys: Iterable[str] = ("src", "mt", "ref")) -> list[dict]:
    """{value, parts, spans, margin} of each (source, hypothesis, reference), read without the texts not in `keys`.

    margin    least difference between the two likeliest labels of a token: where it is tiny, spans hang on noise
    """
    samples = [{key: text for key, text in zip(("src", "mt", "ref"), triple) if key in keys} for triple in texts]
    decode = getattr(type(model), "decode", None)  # word-level models have it

    def decode_with_margin(probabilities, ids, offsets):
        """The margin travels as a first span without severity, so that predict keeps it with its text."""
        likeliest = [rows[: len(places)].topk(2).values for rows, places in zip(probabilities, offsets)]
        margins = [(top[:, 0] - top[:, 1]).min().item() for top in likeliest]
        return [
            [{"severity": None, "margin": m}, *spans]
            for m, spans in zip(margins, decode(model, probabilities, ids, offsets))
        ]

    if decode:
        model.decode = decode_with_margin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = model.predict(samples, batch_size=8, gpus=0, progress_bar=False, num_workers=0)
    # a ranking model's metadata are distances, which are no parts of its score
    metadata = output["metadata"] if "metadata" in output and hasattr(model, "estimator") else {}
    columns = {part: metadata[f"{part}_scores"] for part in PARTS if f"{part}_scores" in metadata}
    if "ref" in keys and "src" not in keys and "src" in columns:  # it calls a lone regression so, whatever it read
        columns["ref"] = columns.pop("src")
    spans = metadata.get("error_spans") or [None] * len(samples)
    return [
        {
            "value": value,
            "parts": {part: column[i] for part, column in columns.items()},
            "spans": spans[i] and [[span[key] for key in SPAN] for span in spans[i][1:]],
            "margin": spans[i] and spans[i][0]["margin"],
        }
        for i, value in enumerate(output["scores"])
    ]


def rounded(value):
    """The same with numbers rounded to 7 digits, within lists and dicts too."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, 7) if isinstance(value, float) else value


def store() -> None:
    """Write the scores of the tiny checkpoints, and the digests of their tensors."""
    stored = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in RECIPES:
            folder = build(RECIPES[name], Path(scratch) / name)
            model = load(folder)
            scores = {"+".join(keys): rounded(predict(model, TEXTS, keys)) for keys in input_choices(RECIPES[name])}
            stored[name] = {"digest": digest(read_tensors(folder)), "scores": scores}
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(stored, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    store()
