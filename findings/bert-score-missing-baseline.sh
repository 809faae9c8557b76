#!/usr/bin/env bash
# Package: bert-score 0.3.13 with transformers 4.57.6 and PyTorch 2.13.0.
# Input: score(..., rescale_with_baseline=True) with a model for which the package has no baseline file.
# Expected: the error that BERTScorer of the same package raises, or a hash that says that nothing was rescaled.
# Seen: score prints a warning and returns the raw values, and its hash, which papers quote, ends in "-rescaled". The class
#   BERTScorer raises a ValueError for the same request.
# Hurts: whoever compares values by their hash: raw BERTScores (near .9) stand beside rescaled ones (near .5).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -q bert-score==0.3.13 transformers==4.57.6 torch==2.13.0 2> pip.log || { cat pip.log >&2; exit 1; }
cat > try.py <<'PY'
from pathlib import Path

import torch
from bert_score import BERTScorer, score
from transformers import BertConfig, BertModel, BertTokenizerFast

Path("tiny").mkdir()
Path("tiny/vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]))
BertTokenizerFast("tiny/vocab.txt", model_max_length=32).save_pretrained("tiny")
torch.manual_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
BertModel(BertConfig(vocab_size=13, **sizes)).save_pretrained("tiny")

options = {"model_type": "tiny", "num_layers": 2, "lang": "en"}
(_, _, raw), plain = score(["a b c"], ["a b d"], return_hash=True, **options)
(_, _, asked), rescaled = score(["a b c"], ["a b d"], return_hash=True, rescale_with_baseline=True, **options)
print("raw:               F1", f"{raw.item():.4f}", plain)
print("rescaling asked for: F1", f"{asked.item():.4f}", rescaled)
assert torch.equal(raw, asked) and rescaled.endswith("-rescaled"), "score changed"
try:
    BERTScorer(rescale_with_baseline=True, **options).score(["a b c"], ["a b d"])
except ValueError as error:
    print("BERTScorer:        ", str(error).partition(" at ")[0])
else:
    raise SystemExit("BERTScorer changed: no error")
PY
HF_HUB_OFFLINE=1 env/bin/python try.py 2> err.txt || { cat err.txt >&2; exit 1; }
