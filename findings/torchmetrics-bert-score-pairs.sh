#!/usr/bin/env bash
# Package: torchmetrics 1.9.0 with transformers 4.57.6 and PyTorch 2.13.0.
# Input: three pairs of sentences of different lengths; bert_score and infolm, all pairs in one call and one pair per call.
#   The model is a random BERT of two layers, made here: which sentences are paired does not depend on the weights.
# Expected: the same three scores, in the same order, since a pair's score does not depend on the other pairs.
# Seen: other scores. Both functions sort hypotheses and references by length, each list by itself, and undo that by
#   applying the sorting permutation a second time instead of its inverse. So hypotheses meet the references of other
#   sentences, and the mean changes too. With two sentences, or texts in order of length, nothing is wrong.
# Hurts: whoever takes BERTScore or InfoLM from torchmetrics: scores of segments and of the corpus are wrong, silently.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -q torchmetrics==1.9.0 transformers==4.57.6 torch==2.13.0 2> pip.log || { cat pip.log >&2; exit 1; }
cat > try.py <<'PY'
from pathlib import Path

import torch
from torchmetrics.functional.text import bert_score, infolm
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

Path("tiny").mkdir()
Path("tiny/vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]))
BertTokenizerFast("tiny/vocab.txt", model_max_length=32).save_pretrained("tiny")
torch.manual_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
BertForMaskedLM(BertConfig(vocab_size=13, initializer_range=0.5, **sizes)).save_pretrained("tiny")


def bert(hypotheses, references):
    return bert_score(hypotheses, references, model_name_or_path="tiny", num_layers=2)["f1"].reshape(-1)


def info(hypotheses, references):
    options = {"model_name_or_path": "tiny", "idf": False, "return_sentence_level_score": True}
    return infolm(hypotheses, references, **options)[1].reshape(-1)


hypotheses, references = ["a b c", "b", "c d"], ["a b", "b c d e f", "c"]
for name, score in (("bert_score", bert), ("infolm", info)):
    together = score(hypotheses, references)
    alone = torch.cat([score([h], [r]) for h, r in zip(hypotheses, references)])
    print(name, "in one call ", *(f"{x:.3f}" for x in together), f"mean {together.mean():.3f}")
    print(name, "one per call", *(f"{x:.3f}" for x in alone), f"mean {alone.mean():.3f}")
    assert (together - alone).abs().max() > 0.01, f"{name} changed: the scores agree"
PY
HF_HUB_OFFLINE=1 env/bin/python try.py 2> err.txt || { cat err.txt >&2; exit 1; }
