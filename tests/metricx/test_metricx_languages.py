"""metricx against transformers' own model on real texts in 13 languages, with checkpoints of tiny and of base shape."""

import csv
import lzma
import shutil
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import metricx_folders
import numpy as np
import pytest
from metricx_folders import make, unlimited

from ctx_metrics import EngineOptions, MetricX

pytestmark = pytest.mark.full
EACH = 3  # segments of a pair
CLOSE = 2.5e-4  # 1e-5 of the range
PAIRS = ("cs-uk", "de-fr", "en-de", "en-hr", "en-ja", "en-liv", "en-ru", "en-zh", "ru-sah", "uk-cs")
WITHOUT_REFERENCES = ("en-hi", "en-ta", "km-en")
FORMS = {
    ("24", True): "source: {} candidate: {} reference: {}",
    ("24", False): "source: {} candidate: {}",
    ("23", True): "candidate: {1} reference: {2}",
    ("23-qe", False): "candidate: {1} source: {0}",
}
QUIET = EngineOptions(quiet=True)


@pytest.fixture(scope="module")
def texts(shared_data) -> list[tuple[str, str, str]]:
    """Sources, outputs and references. Where people wrote no references, the next segment's output serves as one."""
    found = []
    with tarfile.open(shared_data / "wmt22_general" / "wmt22_general.tar.xz") as tar:
        files = {pair: {} for pair in PAIRS}
        for member in tar:
            folder, _, name = member.name.removeprefix("wmt22_general/txt/").partition("/")
            pair = name.split(".")[1] if name.count(".") > 2 else ""
            if pair in files and folder in ("sources", "references", "system-outputs") and folder not in files[pair]:
                files[pair][folder] = tar.extractfile(member).read().decode().splitlines()
    for own in files.values():
        lines = zip(own["sources"], own["system-outputs"], own["references"], strict=True)
        found += [each for each in lines if all(10 < len(text) < 200 for text in each)][:EACH]
    for pair in WITHOUT_REFERENCES:
        with lzma.open(shared_data / "qe22_24" / f"{pair}.dev.tsv.xz", "rt", encoding="utf-8") as file:
            rows = list(islice(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), EACH))
        outputs = [row["mt"] for row in rows]
        found += zip([row["src"] for row in rows], outputs, outputs[1:] + outputs[:1], strict=True)
    assert len(found) == EACH * (len(PAIRS) + len(WITHOUT_REFERENCES))
    return found


@pytest.fixture(scope="module", params=["tiny", pytest.param("base", marks=pytest.mark.slow)])
def folder(request, texts, tmp_path_factory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp(request.param)
    prompts = [form.format(*each) for form in FORMS.values() for each in texts]
    yield make(parent / "checkpoint", request.param, texts=prompts)
    metricx_folders.forget()
    shutil.rmtree(parent)  # the base shape takes gigabytes


def numbers(folder, texts, version, referenced, engine=QUIET) -> np.ndarray:
    sources, outputs, references = (list(each) for each in zip(*texts, strict=True))
    more = {} if version == "23" else {"sources": sources}
    metric = MetricX(model=str(folder), version=version, engine=engine, **more)
    return np.array([each.score for each in metric.segment_scores(outputs, [references] if referenced else [])])


@pytest.mark.parametrize("mode", FORMS, ids=str)
def test_every_mode(folder, texts, mode):
    expected = np.array(unlimited(folder, [FORMS[mode].format(*each) for each in texts], 1536))
    assert np.ptp(expected) > 5, "the scores must differ, and not all be at a limit"
    assert numbers(folder, texts, *mode) == pytest.approx(expected.clip(0, 25), abs=CLOSE)


def test_scores_spread_over_the_range(folder, texts):
    prompts = [form.format(*each) for form in FORMS.values() for each in texts]
    scores = unlimited(folder, prompts, 1536)
    assert min(scores) < 4 and max(scores) > 20 and np.std(scores) > 3
    assert np.mean([2 < score < 23 for score in scores]) > 0.8


def test_batches_and_order(folder, texts):
    mode = ("24", True)
    usual = numbers(folder, texts, *mode)
    assert numbers(folder, texts, *mode, EngineOptions(quiet=True, batch_tokens=1)) == pytest.approx(usual, abs=CLOSE)
    shuffled = np.random.default_rng(1).permutation(len(texts))
    assert numbers(folder, [texts[k] for k in shuffled], *mode) == pytest.approx(usual[shuffled], abs=CLOSE)


@pytest.mark.parametrize(("mode", "most"), [(("24", True), 1536), (("23", True), 1024)], ids=str)
def test_long_texts_are_cut(folder, texts, mode, most):
    """All languages in one text; the same with fewer tokens than the limit, and with exactly so many."""
    sources, outputs, references = (" ".join(each) for each in zip(*texts, strict=True))
    long = [(f"{sources} {k}", outputs[:k] if mode[0] == "24" else outputs * 3, references) for k in (200, 400, 4000)]
    expected = np.array(unlimited(folder, [FORMS[mode].format(*each) for each in long], most)).clip(0, 25)
    assert numbers(folder, long, *mode) == pytest.approx(expected, abs=CLOSE)


def test_bf16_is_within_a_hundredth_of_the_range(folder, texts):
    exact = numbers(folder, texts, "24", True)
    found = numbers(folder, texts, "24", True, EngineOptions(dtype="bf16", quiet=True))
    assert found == pytest.approx(exact, abs=0.25)
