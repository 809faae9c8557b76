"""What the tests of laws share: the example's texts, and checks of any metric."""

import json
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest

from ctx_metrics import InputError, read_lines
from ctx_metrics.scoring.resample import DocumentPairedTest, resample_documents

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SOURCES, REFERENCES, DOC_IDS = (
    read_lines(str(EXAMPLES / name)) for name in ("source.de.txt", "ref.en.txt", "docids.txt")
)
SYSTEMS = {letter: read_lines(str(EXAMPLES / f"system_{letter}.en.txt")) for letter in "abc"}
SCRAMBLED = [" ".join(random.Random(7).sample(text.split(), len(text.split()))) for text in SYSTEMS["b"]]
ODD = ["", " ", "\u200b", "a\0b", "🙂 👍🏽", "\u2028", "-", "x " * 3000, "Ünïcödé ﬁ ①", "[SEP] [CLS]", "日本語", "İ"]


def odd_lines() -> Iterator[tuple[list[str], list[str]]]:
    """Hypotheses and references that no metric may stumble over."""
    plain = ["A plain line."] * len(ODD)
    yield from ((ODD, plain), (plain, ODD), (ODD, ODD[::-1]), (ODD, ODD))


def reordered(rng: random.Random, doc_ids: Sequence[str] = DOC_IDS) -> list[int]:
    """The numbers of the segments when the documents come in another order."""
    documents = sorted(set(doc_ids))
    rng.shuffle(documents)
    return [i for document in documents for i in range(len(doc_ids)) if doc_ids[i] == document]


def lengths(make: Callable[..., Metric]) -> None:
    with pytest.raises(InputError, match="2.*3|3.*2"):
        make().corpus_score(["a", "b"], [["a", "b", "c"]])
    with pytest.raises(InputError, match="no hypotheses"):
        make().corpus_score([], [[]])
    with pytest.raises(InputError, match="differ in length"):
        make([["a", "b"], ["a"]])


def signature(metric: Metric, hypotheses: Sequence[str], references: Sequence | None) -> dict:
    """The short form says as much as the long one; gives the score and the long form as JSON has them."""
    score = metric.corpus_score(hypotheses, references)
    long, short = metric.get_signature().format(), metric.get_signature().format(short=True)
    assert len(short) < len(long) and short.count(":") == long.count(":")
    found = json.loads(score.format(1, False, long, True))
    assert found["name"].startswith(metric.NAME)
    return found


def paired(make: Callable[[], Metric], systems: Sequence[tuple[str, Sequence[str]]], kind: str) -> float:
    """Two worker processes give what one gives; the p-value of the second system."""
    results = []
    for jobs in (1, 2):
        metric = make()
        _, scores = PairedTest(systems, {metric.NAME: metric}, None, kind, n_samples=200, n_jobs=jobs)()
        results.append([(each.score, each.p_value) for each in scores[metric.title]])
    assert results[0] == results[1]
    return results[0][1][1]


def documents(metric: Metric, b: Sequence[str], c: Sequence[str]) -> None:
    """Documents can be resampled, and the score stays."""
    before = metric.corpus_score(b, None).score
    resample_documents(metric, DOC_IDS)
    assert metric.corpus_score(b, None, n_bootstrap=50).score == pytest.approx(before, abs=1e-6)
    _, scores = DocumentPairedTest([("b", b), ("c", c)], {metric.NAME: metric}, None, "bs", 50, 1)()
    assert scores[metric.NAME][0].score == pytest.approx(before, abs=1e-6)


def pickling(metric: Metric, *systems: Sequence[str], size: int) -> None:
    """The weights stay behind, and what is scored already is kept."""
    before = metric.corpus_score(systems[0], None).score
    data = pickle.dumps(metric)
    assert len(data) < size
    again = pickle.loads(data)
    assert again.corpus_score(systems[0], None).score == before
    assert all(again.corpus_score(each, None).score == metric.corpus_score(each, None).score for each in systems)
