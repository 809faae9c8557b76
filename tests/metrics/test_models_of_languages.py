"""Every kind of model against its oracle on real texts in 13 languages, with checkpoints of tiny and of base shape."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import bleurt_folders
import metricx_folders
import numpy as np
import pytest
from comet_agreement import input_choices, our_estimates
from comet_checkpoints import RECIPES, build
from comet_fixture import build_checkpoint
from polycand_oracle import ByHand, candidates_beside
from segments_of_languages import EACH, segments_of_languages

from ctx_metrics import BLEURT, COMET, EngineOptions, MetricX

pytestmark = pytest.mark.full
QUIET = EngineOptions(device="cpu", quiet=True)
CLOSE = 1e-5  # of the range
Texts = list[tuple[str, str, str]]  # source, output, reference


class Kind(NamedTuple):
    """One kind of models; values are [n] or [systems, n] for n texts.

    make      writes a checkpoint of a size into a new folder, for such texts
    modes     the ways to read texts
    ours      values in a mode
    oracle    the same by another implementation
    range     of the values
    bf16      the most that half precision may change, in parts of the range
    """

    make: Callable[[Path, str, Texts], Path]
    modes: Sequence
    ours: Callable[[Path, Texts, Any, EngineOptions], np.ndarray]
    oracle: Callable[[Path, Texts, Any], np.ndarray]
    range: float = 1.0
    bf16: float = 0.01


# metricx

FORMS = {
    ("24", True): "source: {} candidate: {} reference: {}",
    ("24", False): "source: {} candidate: {}",
    ("23", True): "candidate: {1} reference: {2}",
    ("23-qe", False): "candidate: {1} source: {0}",
}


def make_metricx(folder, size, texts):
    return metricx_folders.make(folder, size, texts=[form.format(*each) for form in FORMS.values() for each in texts])


def metricx(folder, texts, mode, engine):
    sources, outputs, references = (list(each) for each in zip(*texts, strict=True))
    version, referenced = mode
    more = {} if version == "23" else {"sources": sources}
    metric = MetricX(model=str(folder), version=version, engine=engine, **more)
    return np.array([each.score for each in metric.segment_scores(outputs, [references] if referenced else [])])


def metricx_oracle(folder, texts, mode):
    prompts = [FORMS[mode].format(*each) for each in texts]
    return np.array(metricx_folders.oracle(folder, prompts, 1536 if mode[0] == "24" else 1024))


# bleurt: outputs beside references, these beside outputs, and equal texts


def pairs(texts: Texts) -> list[list[tuple[str, str]]]:
    return [
        [(output, ref) for _, output, ref in texts],
        [(ref, output) for _, output, ref in texts],
        [(ref, ref) for *_, ref in texts],
    ]


def make_bleurt(folder, size, texts):
    return bleurt_folders.make(folder, size, texts=[text for _, *own in texts for text in own])


def bleurt(folder, texts, activation, engine):
    metric = BLEURT(model=str(folder), activation=activation, engine=engine)
    columns = [list(zip(*each, strict=True)) for each in pairs(texts)]
    return np.array([[each.score / 100 for each in metric.segment_scores(h, [r])] for h, r in columns])


def bleurt_oracle(folder, texts, activation):
    return np.array([bleurt_folders.oracle(folder, each, activation) for each in pairs(texts)])


# comet: the regression's value, without error labels, which rounding can flip

BASE = {"layers": 12, "width": 768, "heads": 12, "buckets": 256, "hidden_sizes": (3072, 1024)}


def make_comet(name, folder, size, texts):
    return build(replace(RECIPES[name], **BASE) if size == "base" else RECIPES[name], folder)


def comet(name, folder, texts, keys, engine):
    estimates = our_estimates(folder, RECIPES[name], texts, keys, engine=engine)
    return np.array([each.parts.get("unified", each.value) for each in estimates])


def comet_oracle(folder, texts, keys):
    pytest.importorskip("comet", reason="needs unbabel-comet, the oracle", exc_type=ImportError)
    from comet_oracle import load, predict

    return np.array([each["parts"].get("unified", each["value"]) for each in predict(load(folder), texts, keys)])


# polycand: an output, the reference and both backwards are the systems of a run


def systems(texts: Texts) -> list[list[str]]:
    return [[change(each[k]) for each in texts] for change in (str, lambda text: text[::-1]) for k in (1, 2)]


def make_polycand(folder, size, texts):
    folder.mkdir()
    return build_checkpoint(folder, "polycand", size, [text for each in texts for text in each])


def polycand(folder, texts, _, engine):
    metric = COMET(systems=systems(texts), sources=[each[0] for each in texts], model=str(folder), engine=engine)
    return np.array([[each.score / 100 for each in metric.segment_scores(system)] for system in systems(texts)])


def by_hand(folder, texts, _):
    oracle, outputs = ByHand(folder), systems(texts)
    return np.array(
        [
            [
                oracle.score(source, text, candidates_beside(text, others, 2))
                for (source, *_), text, *others in zip(texts, system, *outputs, strict=True)
            ]
            for system in outputs
        ]
    )


KINDS = {
    "metricx": Kind(make_metricx, [*FORMS], metricx, metricx_oracle, range=25.0),
    "bleurt": Kind(make_bleurt, [*bleurt_folders.ACTS], bleurt, bleurt_oracle, bf16=0.02),
    "polycand": Kind(make_polycand, [None], polycand, by_hand, bf16=0.025),
    **{
        name: Kind(partial(make_comet, name), input_choices(RECIPES[name]), partial(comet, name), comet_oracle)
        for name in ("ranking", "xcomet-lite")
    },
}


@pytest.fixture(scope="module")
def texts(shared_data) -> Texts:
    return segments_of_languages(shared_data)[::EACH]


@pytest.fixture(scope="module", params=["tiny", pytest.param("base", marks=pytest.mark.slow)])
def size(request) -> str:
    return request.param


@pytest.fixture(scope="module", params=KINDS)
def made(request, size, texts, tmp_path_factory) -> Iterator[tuple[Kind, Path]]:
    kind, parent = KINDS[request.param], tmp_path_factory.mktemp(request.param)
    yield kind, kind.make(parent / "checkpoint", size, texts)
    metricx_folders.forget()
    bleurt_folders.forget()
    shutil.rmtree(parent)  # the base shape takes gigabytes


def test_scores_are_those_of_the_oracle(made, texts):
    """Also of long texts, which are cut: all languages in one text, in each place."""
    kind, folder = made
    long = tuple(" ".join(each) for each in zip(*texts, strict=True))
    given = [*texts, long, (long[0], texts[0][1], long[2]), (texts[0][0], long[1], texts[0][2])]
    for mode in kind.modes:
        expected = kind.oracle(folder, given, mode)
        assert np.ptp(expected) > 0.2 * kind.range, "the scores must differ"
        assert kind.ours(folder, given, mode, QUIET) == pytest.approx(expected, abs=CLOSE * kind.range), mode


def test_batches_and_order(made, texts):
    kind, folder = made
    usual = kind.ours(folder, texts, kind.modes[0], QUIET)
    one_by_one = replace(QUIET, batch_tokens=1, store_mb=1)
    assert kind.ours(folder, texts, kind.modes[0], one_by_one) == pytest.approx(usual, abs=CLOSE * kind.range)
    order = np.random.default_rng(1).permutation(len(texts))
    found = kind.ours(folder, [texts[k] for k in order], kind.modes[0], QUIET)
    assert found == pytest.approx(usual[..., order], abs=CLOSE * kind.range)


def test_bf16_is_within_a_hundredth_of_the_range(made, texts):
    """In the mean of all; single segments of some models differ by more."""
    kind, folder = made
    exact = kind.ours(folder, texts, kind.modes[0], QUIET)
    apart = kind.ours(folder, texts, kind.modes[0], replace(QUIET, dtype="bf16")) - exact
    most = max(kind.range, float(np.ptp(exact)))
    assert np.sqrt((apart**2).mean()) < 0.01 * most and np.abs(apart).max() < kind.bf16 * most
