"""Error spans from word labels (xCOMET, Guerreiro et al. 2024), decoded as in unbabel-comet."""

from collections.abc import Sequence
from itertools import groupby

import torch

from ...engine.tokenizer import TextTokenizer, TokenIds
from ..estimator import ErrorSpan

# weights of the sequences (mt, src), (mt, ref) and (mt, src, ref) in a token's label probabilities
LABEL_WEIGHTS = (0.1667, 0.3333, 0.5)
PENALTIES = {"minor": 1, "major": 5, "critical": 10}
WORST = 25


def decode_spans(
    hypotheses: Sequence[str],
    logits: Sequence[Sequence[torch.Tensor]],
    sequences: Sequence[Sequence[TokenIds]],
    labels: Sequence[str],
    *,
    tokenizer: TextTokenizer,
    max_content: int,
) -> list[list[ErrorSpan]]:
    """The error spans of each hypothesis.

    logits       for each of an example's sequences, fp32 [tokens, 1 + labels]; label 0 means no error
    sequences    the token sequences, which begin with the hypothesis
    labels       severities, in the order of the logits from 1 on

    A span is a run of tokens whose most likely label is an error. Its severity is that of its first token; its confidence is
    the mean probability of its tokens' most likely labels. As in unbabel-comet, a span that is still open at the
    hypothesis's last token is dropped.
    """
    of_hypotheses = []
    for offsets, of_example, tokens in zip(tokenizer.offsets(hypotheses, max_content), logits, sequences, strict=True):
        ids, length = tokens[0].ids, min(len(offsets), *map(len, of_example))
        each = [of_sequence[:length].softmax(1) for of_sequence in of_example]
        if len(each) > 1:
            each = [weight * probabilities for weight, probabilities in zip(LABEL_WEIGHTS, each, strict=True)]
        confidence, label = torch.stack(each).sum(0).max(1)
        spans, begin = [], 0
        for is_error, run in groupby(label.tolist(), bool):
            end = begin + len(list(run))
            if is_error and end < length:
                text, severity = tokenizer.decode(ids[begin:end].tolist()), labels[int(label[begin]) - 1]
                certain = confidence[begin:end].mean().item()
                spans.append(ErrorSpan(text, severity, certain, offsets[begin][0], offsets[end - 1][1]))
            begin = end
        of_hypotheses.append(spans)
    return of_hypotheses


def mqm_score(spans: Sequence[ErrorSpan]) -> float:
    """1 minus the sum of the spans' penalties (minor 1, major 5, critical 10) divided by 25, at least 0.

    >>> mqm_score([ErrorSpan("a", "minor", 0.9, 0, 1), ErrorSpan("b", "major", 0.8, 2, 3)])
    0.76
    """
    return (WORST - min(WORST, sum(PENALTIES[span.severity] for span in spans))) / WORST
