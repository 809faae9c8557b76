"""What a metric declares, how it is made, and its rows' finite values."""

import math
import re

import pytest
from sacrebleu.metrics import BLEU, CHRF

from ctx_metrics import BERTR, ESIM, SLIDE
from ctx_metrics.errors import ModelError
from ctx_metrics.finite import check_finite, checked
from ctx_metrics.metrics.bertscore import greedy_match, largest_cosines
from ctx_metrics.scoring.context import CONTEXT, Context, build, capabilities
from ctx_metrics.scoring.results import best_reference
from ctx_metrics.scoring.scores import scores


class Plain:
    def __init__(self, references=None, *, sources=None):
        self.sources = sources


class Passing(Plain):
    def __init__(self, scale, **rest):
        super().__init__(**rest)


class Closed(Passing):
    def __init__(self, doc_ids=None, *more):
        super().__init__(1)


class Inherits(Passing):
    pass


@pytest.mark.parametrize(
    "cls, reads",
    [
        (Plain, {"sources"}),
        (Passing, {"sources"}),
        (Closed, {"doc_ids"}),
        (Inherits, {"sources"}),
        (object, set()),
        (BLEU, {"trg_lang"}),
        (SLIDE, {"sources", "doc_ids", "source_lang", "target_lang", "engine"}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_a_class_reads(cls, reads):
    assert capabilities(cls).reads == reads <= CONTEXT


def test_a_setting_goes_before_the_context():
    context = Context(references=[["a"]], sources=["b"])
    assert build(Plain, context).sources == ["b"] and build(Plain, context, {"sources": ["c"]}).sources == ["c"]
    assert build(BLEU, Context(references=[["a"]], target_lang="zh")).tokenizer.signature() == "zh"


# ---- finite values ----


class Toy(CHRF):
    """Statistics are what is put into `rows`."""

    def __init__(self, rows, references=None):
        self.rows = rows

    def _extract_corpus_statistics(self, hypotheses, references):
        return self.rows


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308])
def test_another_packages_metric_must_give_finite_rows(value):
    cls, shown = checked(type("Toy", (Toy,), {})), re.escape(f"{value:g}")
    assert checked(cls) is cls and cls([[1, 2]])._extract_corpus_statistics(["a"], None) == [[1, 2]]
    with pytest.raises(ModelError, match=f"^toy, segment 2: {shown} is not a score; leave this metric out$"):
        cls([[1, 2], [3, value]])._extract_corpus_statistics(["a", "b"], None)
    with pytest.raises(ModelError) as caught:
        scores(Toy([[value]]), ["a"])
    assert (caught.value.about, caught.value.segment) == ("toy", 0)


def test_sacrebleus_own_classes_are_left_alone():
    before = CHRF._extract_corpus_statistics
    assert checked(CHRF)._extract_corpus_statistics is before


@pytest.mark.parametrize("dtype, fix", [("fp32", "fetch or train it again"), ("bf16", "bf16 may be too small")])
def test_the_fix_names_the_number_format(dtype, fix):
    with pytest.raises(ModelError) as caught:
        check_finite("m", [[math.nan, 1.0]], "b.txt", dtype)
    assert caught.value.about == "m: b.txt" and fix in caught.value.fix


def test_nan_is_not_lost_on_the_way():
    """F1 of NaN was 0, and the best of two references passed over a NaN."""
    import torch

    broken, whole = torch.tensor([[math.nan, 1.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    assert all(math.isnan(value) for value in greedy_match(*largest_cosines(broken, whole), [0.5, 0.5], [1.0]))
    for values in ([0.5, math.nan], [math.nan, 0.5], [math.inf, -math.inf]):
        assert math.isnan(best_reference(values, "max")) and math.isnan(best_reference(values, "mean"))


@pytest.mark.parametrize("cls", [BERTR, ESIM])
def test_a_model_that_gives_nan_is_an_error(cls, monkeypatch):
    """Whatever goes wrong in a network, no score comes of it; nothing is printed before."""
    import torch.nn.functional as F

    metric = cls([["The cat sat.", "We left."]], target_lang="en")
    for name in ("normalize", "linear"):
        function = getattr(F, name)
        monkeypatch.setattr(F, name, lambda *args, _function=function, **more: _function(*args, **more) * math.nan)
    with pytest.raises(ModelError, match="nan is not a score; the model is broken"):
        metric.corpus_score(["A cat sat.", "They left."], None)


def test_documents_are_scored_as_segments_are():
    """A document of one short sentence: BLEU takes the orders that it has, at every level but the system's."""
    found = scores(BLEU(references=[["It rains.", "No, not at all."]]), ["It rains.", "Not at all."], ["a", "b"])
    assert found.documents == found.segments and found.documents[0] == pytest.approx(100)
