"""Train the metric pairwise, which predicts the better one of two outputs.

Learns from pairs of a better and a worse output, made of human judgements, keeps the weights of the epoch that agrees best
with people on other pairs, and writes a folder that `sacrebleu -m pairwise --pairwise-model FOLDER` and
`ctx-metrics pairwise rank --model FOLDER` load.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from ...cli.common import flags
from ...engine_options import EngineOptions
from ...errors import CtxMetricsError
from ...flag_types import File, Files, Folder
from ...judgements.options import DataOptions
from ...notices import counted
from ...paths import Reads
from ...settings import CommandLine, from_flags, setting
from ...training.flag_types import AtLeast0, file_or_share
from ...training.folder import EMBEDDINGS, Cache, TrainingFolder, cache, can_plot, name_of
from ..training.recipe import MODERN, PAPER, RECIPES, Architecture, PairwiseRecipe

if TYPE_CHECKING:
    from ...judgements.judged import JudgedSet
    from ...training.data import Source

USAGE = "%(prog)s pairwise --train PATH [...] --dev PATH [...] | SHARE --out FOLDER [flags]"
EPILOG = """\
--train and --dev take data of `ctx-metrics meta` with scores of segments, or with better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, WMT13 rankings (with --outputs and --reference), lists of better and worse outputs,
and any TSV or .jsonl with mt, score and ref, where outputs of one src and ref are compared.

After Ctrl-C, a crash or a power cut, run the same command again: it continues where it stopped.

examples:
  # better and worse outputs; a tenth of the source sentences chooses the epoch
  ctx-metrics train pairwise --train preferences.tsv --dev 0.1 --out my-pairwise

  # the paper's logistic regression over BLEU, NIST, TER and METEOR, with chrF as a fifth
  ctx-metrics train pairwise --train preferences.tsv --dev dev.tsv --features 4metrics chrf --vectors none --hidden 0 \\
      --out my-regression

  # WMT13's rankings, in minutes; word vectors next to the encoder's
  ctx-metrics train pairwise --train fr-en-rankings.csv --outputs newstest2013/fr-en --reference newstest2013-ref.en \\
      --dev 0.1 --vectors encoder@3:25 glove.6B.50d.txt --recipe modern --out my-pairwise
"""


@dataclass(frozen=True)
class Pairs:
    kind: str = setting("The network.", flag="pairwise", choices=["pairwise"])
    train: Files = setting(
        "Human judgements to learn from; they are turned into pairs of a better and a worse output.",
        group="data",
        required=True,
        metavar="PATH",
    )
    dev: Annotated[Sequence[str | float], Reads(file_or_share)] = setting(
        "Development data, which chooses the best epoch: judgements that are neither trained nor tested on, or a "
        "share of --train's source sentences such as 0.1, drawn by --seed.",
        required=True,
        metavar="PATH|SHARE",
    )


@dataclass(frozen=True)
class Judgements(DataOptions):
    reference: File | None = setting(
        "Reference to use. In a tree: its name, such as refA. In MQM annotations: the human translation. With "
        "rankings: the reference file.",
        metavar="NAME",
    )
    outputs: Folder | None = setting("With rankings: the folder of the systems' outputs.")
    no_text_checks: bool = flags.text_checks()
    threshold: AtLeast0 | None = setting(
        "Minimum difference between two human scores of a segment to form a pair; preferences and rankings already "
        "are pairs. (Default: 25 for scores of 0 to 100, as at WMT; any for others, such as z-scores and MQM)"
    )


@dataclass(frozen=True)
class NamedRecipe:
    recipe: Literal["paper", "modern"] = setting(
        "paper: Adagrad and a fixed number of epochs, as in Guzman et al. (2015); modern: AdamW with larger steps "
        "and early stopping.",
        "paper",
        group="training",
    )


@dataclass(frozen=True)
class Output(TrainingFolder):
    cache: Cache | None = cache("features and sentence vectors", "on the same texts")
    no_plot: bool = setting("Draw no learning curve.", False)


FLAGS = [
    Pairs,
    Judgements,
    (Architecture, {"": Architecture()}),
    NamedRecipe,
    (PairwiseRecipe, {"": PAPER, "modern": MODERN}),
    Output,
    flags.quiet(),
    ("engine of the encoder", EngineOptions),
]


class Data(NamedTuple):
    """Training and development sets, and the files they come from.

    drawn    how the development pairs were drawn from the training data; "" if they were not
    """

    training: "list[JudgedSet]"
    development: "list[JudgedSet]"
    sources: "dict[str, list[Source]]"
    drawn: str


def run(line: CommandLine) -> int:
    architecture = line[Architecture]
    # "none" by itself means no features, or no vectors
    features, vectors = (
        () if [*each] == ["none"] else tuple(each) for each in (architecture.features, architecture.vectors)
    )
    architecture = replace(architecture, features=features, vectors=vectors)
    recipe = from_flags(PairwiseRecipe, line, usual=RECIPES[line[NamedRecipe].recipe])
    _check(line, architecture, recipe)
    return line[Output].run(lambda: _train(line, architecture, recipe))


def _check(line: CommandLine, architecture: Architecture, recipe: PairwiseRecipe) -> None:
    from ...training.data import check_pairs

    error, dev = line.error, line[Pairs].dev
    if len(dev) > 1 and any(isinstance(each, float) for each in dev):
        error("--dev takes files and folders, or one share of --train, not both")
    check_pairs(line, line[Judgements].pairs)
    for name in ("features", "vectors"):
        if "none" in getattr(architecture, name):
            error(f"--{name} none cannot be combined with other values; leave the others out")
    if not architecture.features and not architecture.vectors:
        error("--features none and --vectors none leave nothing to read; give one of them")
    if "encoder" in line and not architecture.reads_encoder:
        error("--encoder works only with --vectors encoder")
    if architecture.tied and not (architecture.hidden and architecture.vectors):
        error("--tied needs a hidden layer over sentence vectors (--hidden, --vectors)")
    for name in ("beta", "gamma"):
        if name in line and "kendall" not in recipe.cost:
            error(f"--{name} works only with --cost kendall and logistic+kendall")


def _train(line: CommandLine, architecture: Architecture, recipe: PairwiseRecipe) -> None:
    """Train a model, write its folder, and print how well it performs."""
    # here, so that a Ctrl-C while torch is imported is caught too
    from ...cli.common.output import number, table
    from ...training.card import command
    from ...training.data import as_json, data_sha256
    from ..training import report
    from ..training.data import count_pairs
    from ..training.learn import learn

    judgements, output = line[Judgements], line[Output]
    with_curve = not output.no_plot and can_plot()
    options = replace(line[DataOptions], text_checks=not judgements.no_text_checks)
    data = _read(line[Pairs], options, judgements.threshold, recipe.seed)
    languages = _languages(architecture, "encoder" in line, data)
    notes: dict[str, Any] = as_json(data.sources)
    if judgements.outputs:  # read for rankings, which contain no texts
        paths = {"outputs": judgements.outputs, "reference": judgements.reference}
        texts = {name: path for name, path in paths.items() if path and os.path.exists(path)}
        notes |= {n: {"name": name_of(p), "sha256": data_sha256(p)} for n, p in texts.items()}
    features, sides = output.path / EMBEDDINGS, (data.training, data.development)
    output.begin()
    with _taken_back([features, output.path, *output.path.parents]):
        trained = learn(
            architecture,
            recipe,
            *sides,
            out=output.path,
            cache=Path(output.cache or features),
            languages=languages,
            engine=line[EngineOptions],
            notes={"data": notes},
        )
    best = trained.checks[trained.best]
    taus = {"pairwise": best.tau, **trained.feature_taus}
    learned, chosen = (
        f"{counted(pairs, 'pair', 'pairs')} of {counted(segments, 'segment', 'segments')}"
        for pairs, segments in map(count_pairs, sides)
    )
    output.finish(
        trained.checks,
        card=report.card(output.name, architecture, recipe, trained, data.sources, data.drawn, command(line.argv)),
        curve=report.curve(trained.checks, trained.best, output.name) if with_curve else None,
        lines=[
            table(["Development pairs", "tau"], [[name, number(tau, 4, "-")] for name, tau in taus.items()]),
            "Tau counts a pair as wrong if the model gives both outputs the same chance.",
            f"Learned from {learned}; chosen on {chosen}",
            f"Best epoch: {trained.best + 1} of {len(trained.checks)} (epoch {best.epoch} of the {best.phase} cost)",
        ],
        uses=report.uses(output.out),
    )
    report.say_poor(best.tau, trained.feature_taus)
    report.say_unfinished(trained.checks, recipe.epochs)


@contextmanager
def _taken_back(folders: Sequence[Path]) -> Iterator[None]:
    """Remove these folders, innermost first, if a CtxMetricsError is raised inside the block.

    Folders that existed before or that hold the state of a training run are kept.
    """
    made = [folder for folder in folders if not folder.exists()]
    try:
        yield
    except CtxMetricsError:
        if made[:1] == folders[:1]:
            shutil.rmtree(made[0], ignore_errors=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def _read(pairs: Pairs, options: DataOptions, threshold: float | None, seed: int) -> Data:
    from ...training.data import Source
    from ..training.data import count_pairs, read_pair_sets, say_shared, split_by_segment

    training = read_pair_sets(pairs.train, options, threshold)
    sources = [Source.of(path, count) for path, count in training.counts.items()]
    if isinstance(share := pairs.dev[0], float):
        left, held = split_by_segment(training.sets, share, seed)
        (drawn, _), (whole, _) = count_pairs(held), count_pairs(training.sets)
        how = (
            f"{drawn:,} of the {whole:,} pairs are used only for development: a share of {share:g} of the source "
            "sentences, drawn by the seed. The two sides share no source sentence or reference."
        )
        return Data(left, held, {"train": sources, "development": []}, how)
    development = read_pair_sets([str(path) for path in pairs.dev], options, threshold)
    say_shared(training.sets, development.sets)
    chosen_on = [Source.of(path, count) for path, count in development.counts.items()]
    return Data(training.sets, development.sets, {"train": sources, "development": chosen_on}, "")


def _languages(architecture: Architecture, asked: bool, data: Data) -> list[str] | None:
    """Return the model's languages; stop or warn if the embedded encoder would read a language other than English."""
    from ...training.data import guard, target_languages

    sets = [*data.training, *data.development]
    known = {judged.name: (judged.source_lang, judged.target_lang) for judged in sets}
    if not architecture.reads_encoder:
        return target_languages("none", known)
    if architecture.encoder == "embedded":
        unknown = [judged.references[0] for judged in sets if judged.target_lang is None]
        guard("train pairwise", asked, (target for _, target in known.values()), unknown)
    return target_languages(architecture.encoder, known)
