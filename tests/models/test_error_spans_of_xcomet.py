"""Which labels of subwords make an error span: `decode` of unbabel-comet 2.2.7, on labels that random checkpoints rarely have."""

import warnings
from types import SimpleNamespace

import pytest
import torch

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.model import decode_spans, mqm_score
from ctx_metrics.models.load import load_estimator

LABELS = ["minor", "major", "critical"]
TEXT = "The cat sat"


@pytest.fixture(scope="module")
def tokenizer(comet_checkpoint):
    return load_estimator(str(comet_checkpoint("xcomet")), EngineOptions(device="cpu", quiet=True)).encoder.tokenizer


def of_labels(pattern: str) -> torch.Tensor:
    """Logits [tokens, 4] whose most likely labels are these: O none, 1 minor, 2 major, 3 critical."""
    return torch.tensor([[4.0 * (number == "O123".index(each)) for number in range(4)] for each in pattern])


def spans(tokenizer, pattern: str) -> list:
    [ids] = tokenizer([TEXT])
    assert len(ids.ids) == len(pattern)
    [found] = decode_spans([TEXT], [[of_labels(pattern)]], [[ids]], LABELS, tokenizer=tokenizer, max_content=508)
    return found


def patterns(tokenizer) -> list[str]:
    inner = len(tokenizer([TEXT])[0].ids) - 2
    return [
        "1" + "O" * inner + "O",  # <s> alone
        "O" + "2" * inner + "O",  # ended by the O of </s>
        "O" + "2" * inner + "1",  # still open at </s>
        "3" + "1" * inner + "O",
        "O" + "1" + "O" * (inner - 1) + "2",
    ]


def test_a_span_needs_a_later_o_and_may_be_the_first_special_token(tokenizer):
    alone, ended, unended, whole, last = (spans(tokenizer, pattern) for pattern in patterns(tokenizer))
    assert [each[:2] for each in alone] == [("<s>", "minor")] and (alone[0].start, alone[0].end) == (0, 0)
    assert mqm_score(alone) == 0.96
    assert [(each.severity, TEXT[each.start : each.end]) for each in ended] == [("major", TEXT)]
    assert unended == [] and mqm_score(unended) == 1
    assert [each.severity for each in whole] == ["critical"]  # that of the first subword
    assert [each.severity for each in last] == ["minor"]


def test_they_are_those_of_unbabel_comet(tokenizer):
    pytest.importorskip("comet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from comet.models import UnifiedMetric
    theirs = SimpleNamespace(
        decoding_threshold=None,
        label_encoder=SimpleNamespace(ids_to_label=dict(enumerate(["O", *(f"I-{label}" for label in LABELS)]))),
        encoder=SimpleNamespace(tokenizer=tokenizer),
    )
    for pattern in patterns(tokenizer):
        ids, offsets = torch.tensor([tokenizer([TEXT])[0].ids.tolist()]), tokenizer.offsets([TEXT], 508)
        [expected] = UnifiedMetric.decode(theirs, of_labels(pattern).softmax(1)[None], ids, offsets)
        found = [
            {"text": each.text, "confidence": pytest.approx(each.confidence), "severity": each.severity}
            | {"start": each.start, "end": each.end}
            for each in spans(tokenizer, pattern)
        ]
        assert expected == found
