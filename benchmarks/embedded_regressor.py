"""Builds the embedded quality model that `comet` and `slide` use by default.

    python benchmarks/embedded_regressor.py --data DIR --out FOLDER

DIR holds wmt15_16_da/wmt15_16_da.tar.xz, wmt20_21_mqm/*.zh-en.tsv.xz and wmt22_mqm/wmt22_mqm.tar.xz; the archives are
unpacked to a temporary folder. Training reads WMT16
direct assessment into English and the zh-en MQM of WMT20 and WMT21; WMT15 and WMT22 are for development alone.
"""

import argparse
import itertools
import json
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from embedded_fit import Recipe, encode_pairs, fit
from scipy.stats import pearsonr

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.judgements.judged import JudgedSet, is_human
from ctx_metrics.judgements.measures.pairwise import pair_agreements
from ctx_metrics.judgements.readers.da import read_da
from ctx_metrics.judgements.readers.table import read_table
from ctx_metrics.judgements.readers.tree import read_tree
from ctx_metrics.models import hub
from ctx_metrics.models.regressor import CONFIG_KIND, RegressorNetwork, feature_names, predict
from ctx_metrics.training.quality.judgements import Judgement, judgements
from ctx_metrics.windows import sentence_windows
from ctx_metrics.writing import write_tensors, write_whole

DA15_PAIRS = ("cs-en", "de-en", "fi-en", "ru-en")
DA16_PAIRS = ("cs-en", "de-en", "fi-en", "ro-en", "ru-en", "tr-en")
MQM_FILES = ("wmt20.news.zh-en", "wmt21.news.zh-en", "wmt21.ted.zh-en")
WINDOW = 6


def training_set(data: Path) -> tuple[list[Judgement], list[float], list[bool]]:
    """Judgements, their targets, and whether each is MQM. Targets are z-scores within each data set, of the score for direct
    assessment and of minus the root of the penalty for MQM."""
    sets = read_da_year(data, "2016", DA16_PAIRS)
    sets += [judged for name in MQM_FILES for judged in read_table(str(data / f"wmt20_21_mqm/{name}.tsv.xz"))]
    rows = [j for judged in sets for j in judgements(judged) if j.hypothesis.strip() and j.reference.strip()]
    is_mqm = np.array([j.dataset in MQM_FILES for j in rows])
    raw = np.array([j.score for j in rows])
    raw[is_mqm] = -np.sqrt(np.maximum(0, -raw[is_mqm]))
    datasets = np.array([j.dataset for j in rows])
    targets = np.zeros(len(raw), np.float32)
    for name in set(datasets):
        of_set = datasets == name
        targets[of_set] = (raw[of_set] - raw[of_set].mean()) / raw[of_set].std()
    return rows, targets.tolist(), is_mqm.tolist()


def read_da_year(data: Path, year: str, pairs: Sequence[str]) -> list[JudgedSet]:
    """Direct assessment of WMT15 or WMT16 from its archive."""
    with unpacked(data / "wmt15_16_da/wmt15_16_da.tar.xz") as folder:
        return read_da(str(folder / f"DAseg-wmt-newstest{year}"), pairs)


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """The folder that a .tar.xz holds, which has the archive's name, unpacked for a while."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        yield Path(folder) / archive.name.removesuffix(".tar.xz")


class Development:
    """The development sets with their network inputs computed once, so that several networks can be compared."""

    def __init__(self, data: Path, encoder: TextEncoder, layers: Sequence[int]):
        self.da = [j for judged in read_da_year(data, "2015", DA15_PAIRS) for j in judgements(judged)]
        with unpacked(data / "wmt22_mqm/wmt22_mqm.tar.xz") as folder:
            judged = read_tree(str(folder), "zh-en", "mqm", "refA")
        self.official = {
            system: score
            for system, score in zip(judged.systems, judged.system_scores.tolist(), strict=True)
            if not (is_human(system) or np.isnan(score))
        }
        self.mqm = [j for j in judgements(judged) if j.system in self.official]
        self.windows = list(document_windows(self.mqm))
        self._inputs = [
            encode_pairs(encoder, pairs, layers, "development")
            for pairs in (
                [(j.hypothesis, j.reference) for j in self.da],
                [(j.hypothesis, j.reference) for j in self.mqm],
                [(hypothesis, reference) for _, _, hypothesis, reference in self.windows],
            )
        ]

    def scores(self, network: RegressorNetwork) -> dict[str, float]:
        """WMT15 segment Pearson by pair and on average; WMT22 zh-en MQM: segment Pearson, and pairwise system accuracy
        over the 14 judged systems (91 pairs) for segments and for windows of 6."""
        da, mqm, windows = (values_of(network, inputs) for inputs in self._inputs)
        of_pair = {}
        for pair in DA15_PAIRS:
            own = [(v, j.score) for v, j in zip(da, self.da, strict=True) if j.dataset == f"newstest2015.{pair}"]
            of_pair[pair] = pearsonr(*zip(*own, strict=True))[0]
        judged = [(value, j.score) for value, j in zip(mqm, self.mqm, strict=True) if not np.isnan(j.score)]
        return {
            **{f"wmt15 {pair}": r for pair, r in of_pair.items()},
            "wmt15 average": float(np.mean(list(of_pair.values()))),
            "wmt22 zh-en segments": pearsonr(*zip(*judged, strict=True))[0],
            "wmt22 zh-en system accuracy": self._accuracy(
                [(j.system, 1, v) for v, j in zip(mqm, self.mqm, strict=True)]
            ),
            "wmt22 zh-en system accuracy, windows": self._accuracy(
                [(s, n, v) for v, (s, n, _, _) in zip(windows, self.windows, strict=True)]
            ),
        }

    def _accuracy(self, weighted: Sequence[tuple[str, int, float]]) -> float:
        means = {
            s: np.average(
                [v for name, _, v in weighted if name == s], weights=[n for name, n, _ in weighted if name == s]
            )
            for s in self.official
        }
        official = np.array([*self.official.values()])
        return float(np.nanmean(pair_agreements(official, np.array([means[s] for s in self.official]))))


def values_of(network: RegressorNetwork, inputs: Sequence[tuple | None]) -> list[float]:
    """The network's values of pairs; 0 where a side has no tokens, as the estimator has it."""
    values = iter(predict(network, [each for each in inputs if each is not None]))
    return [0.0 if each is None else next(values) for each in inputs]


def document_windows(rows: Sequence[Judgement]):
    """Windows of 6 of each system's documents: (system, sentences, hypothesis joined, reference joined)."""
    of_systems = sorted(rows, key=lambda j: j.system)  # stable: documents stay in order
    for (system, _), group in itertools.groupby(of_systems, key=lambda j: (j.system, j.document)):
        sentences = list(group)
        for start, end, _ in sentence_windows(len(sentences), WINDOW, WINDOW):
            yield (
                system,
                end - start,
                " ".join(j.hypothesis for j in sentences[start:end]),
                " ".join(j.reference for j in sentences[start:end]),
            )


def write_model(
    folder: Path,
    network: RegressorNetwork,
    encoder: hub.ResolvedModel,
    width: int,
    recipe: Recipe,
    scores: dict[str, float],
    rows: int,
) -> None:
    """Write model.safetensors (fp16) and config.json; README.md, the card, is written by hand beside them."""
    tensors = {
        name: tensor.half() if name == "pooled.mlp.1.weight" else tensor
        for name, tensor in network.state_dict().items()
    }
    write_tensors(str(folder / "model.safetensors"), tensors)
    config = {
        "model_type": CONFIG_KIND,
        "encoder": hub.EMBEDDED,
        "encoder_ckpt": encoder.ckpt,
        "languages": ["en"],
        "layers": recipe.layers,
        "network": {
            "features": len(feature_names(recipe.layers)),
            "layers": len(recipe.layers),
            "width": width,
            "alignment_hidden": recipe.alignment_hidden,
            "pooled_hidden": recipe.pooled_hidden,
        },
        "training": {**asdict(recipe), "rows": rows},
        "development": {name: round(value, 4) for name, value in scores.items()},
    }
    write_whole(str(folder / "config.json"), json.dumps(config, indent=2) + "\n")


def main() -> None:
    """Train, report the development scores and write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the WMT data")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the model to")
    args = parser.parse_args()
    recipe, model = Recipe(), hub.resolve(hub.EMBEDDED)
    encoder = TextEncoder(model.folder, EngineOptions())
    rows, targets, is_mqm = training_set(args.data)
    inputs = encode_pairs(encoder, [(j.hypothesis, j.reference) for j in rows], recipe.layers, "training set")
    network = fit(inputs, targets, is_mqm, encoder.width, recipe)
    scores = Development(args.data, encoder, recipe.layers).scores(network)
    for name, value in scores.items():
        print(f"{name:40} {value:.4f}")
    write_model(args.out, network, model, encoder.width, recipe, scores, len(rows))


if __name__ == "__main__":
    main()
