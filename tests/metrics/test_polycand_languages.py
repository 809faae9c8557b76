"""polycand_metric checkpoints against a calculation by hand on real texts in 13 languages, of tiny and of base shape."""

import csv
import lzma
import shutil
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from comet_fixture import build_checkpoint
from polycand_oracle import ByHand, candidates_beside

from ctx_metrics import COMET, EngineOptions

pytestmark = pytest.mark.full
EACH, SYSTEMS = 3, 4  # segments of a pair, and outputs of a segment
PAIRS = ("cs-uk", "de-fr", "en-de", "en-hr", "en-ja", "en-liv", "en-ru", "en-zh", "uk-cs")
WITH_ONE_SYSTEM = ("en-hi", "en-ta", "km-en")
QUIET = EngineOptions(quiet=True)


class Texts(NamedTuple):
    sources: list[str]
    systems: list[list[str]]

    def at(self, places) -> "Texts":
        return Texts([self.sources[k] for k in places], [[system[k] for k in places] for system in self.systems])


@pytest.fixture(scope="module")
def texts(shared_data) -> Texts:
    """Where there is one system, the outputs of the next segments serve as those of others."""
    rows: list[tuple[str, ...]] = []
    with tarfile.open(shared_data / "wmt22_general" / "wmt22_general.tar.xz") as tar:
        files: dict[str, dict[str, list[str]]] = {pair: {} for pair in PAIRS}
        for member in tar:
            folder, _, name = member.name.removeprefix("wmt22_general/txt/").partition("/")
            pair = name.split(".")[1] if name.count(".") > 2 else ""
            if pair in files and (folder == "sources" or (folder == "system-outputs" and len(files[pair]) <= SYSTEMS)):
                key = "" if folder == "sources" else name  # sorts before the systems
                files[pair][key] = tar.extractfile(member).read().decode().splitlines()
    for own in files.values():
        lines = zip(*(own[key] for key in sorted(own)[: SYSTEMS + 1]), strict=True)
        rows += [each for each in lines if all(5 < len(text) < 250 for text in each)][:EACH]
    for pair in WITH_ONE_SYSTEM:
        with lzma.open(shared_data / "qe22_24" / f"{pair}.dev.tsv.xz", "rt", encoding="utf-8") as file:
            found = list(islice(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), EACH + SYSTEMS))
        outputs = [row["mt"] for row in found]
        rows += [(found[k]["src"], *outputs[k : k + SYSTEMS]) for k in range(EACH)]
    assert len(rows) == EACH * (len(PAIRS) + len(WITH_ONE_SYSTEM)) and {len(row) for row in rows} == {SYSTEMS + 1}
    sources, *systems = (list(each) for each in zip(*rows, strict=True))
    return Texts(sources, systems)


@pytest.fixture(scope="module", params=["tiny", pytest.param("base", marks=pytest.mark.slow)])
def folder(request, texts, tmp_path_factory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp(request.param)
    every = [text for stream in (texts.sources, *texts.systems) for text in stream]
    yield build_checkpoint(parent, "polycand", request.param, every)
    shutil.rmtree(parent)


def values(folder, texts, engine=QUIET) -> np.ndarray:
    """float64 [systems, segments]"""
    metric = COMET(systems=texts.systems, sources=texts.sources, model=str(folder), engine=engine)
    return np.array([[each.score / 100 for each in metric.segment_scores(system)] for system in texts.systems])


def by_hand(folder, texts) -> np.ndarray:
    oracle = ByHand(folder)
    return np.array(
        [
            [
                oracle.score(source, text, candidates_beside(text, outputs, 2))
                for source, text, outputs in zip(texts.sources, system, zip(*texts.systems, strict=True), strict=True)
            ]
            for system in texts.systems
        ]
    )


def test_scores(folder, texts):
    expected = by_hand(folder, texts)
    assert np.std(expected) > 0.05 and np.std(expected, axis=0).mean() > 0.02
    assert values(folder, texts) == pytest.approx(expected, abs=1e-5)


def test_batches_and_order(folder, texts):
    usual = values(folder, texts)
    one_by_one = EngineOptions(quiet=True, batch_tokens=1, store_mb=1)
    assert values(folder, texts, one_by_one) == pytest.approx(usual, abs=1e-5)
    shuffled = np.random.default_rng(1).permutation(len(texts.sources))
    assert values(folder, texts.at(shuffled)) == pytest.approx(usual[:, shuffled], abs=1e-5)


def test_long_texts_are_cut(folder, texts):
    """All languages in one text, in each place; a text with more tokens than are read, and with fewer."""
    long = Texts(
        [" ".join(texts.sources) * 3, *texts.sources[:2]],
        [[" ".join(each) * 2, each[0], each[1]] for each in texts.systems],
    )
    metric = COMET(systems=long.systems, sources=long.sources, model=str(folder), engine=QUIET)
    metric.corpus_score(long.systems[0], None)
    assert metric.last_result.counts["truncated"] == 1
    assert values(folder, long) == pytest.approx(by_hand(folder, long), abs=1e-5)


def test_bf16_is_within_a_hundredth_of_the_range(folder, texts):
    """In the mean and for systems; single segments of the base shape differ by more, as with every regression."""
    exact = values(folder, texts)
    apart = values(folder, texts, EngineOptions(dtype="bf16", quiet=True)) - exact
    assert np.sqrt((apart**2).mean()) < 0.01 * np.ptp(exact) and np.abs(apart).max() < 0.025 * np.ptp(exact)
    assert np.abs(apart.mean(axis=1)).max() < 0.01 * np.ptp(exact)
