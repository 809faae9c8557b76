"""Train a metric on human judgements of your own, or on WMT's.

Learns from judged outputs with their references or sources, keeps the weights that agree best with people on development
data, and writes a folder that `sacrebleu -m NETWORK --NETWORK-model FOLDER` loads.
"""

import os
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..cli.common import flags
from ..cli.common.metrics import SACREBLEU, add_metric_arguments, add_sacrebleu_arguments, chosen_metrics, metric_names
from ..engine_options import EngineOptions
from ..flag_types import Amount, Files, Folder, NewFile, Positive
from ..notices import counted, notice
from ..registry import metric_table
from ..settings import CommandLine, Part, add_all, from_flags, setting
from .flag_types import AtLeast0, Languages, Share
from .folder import EMBEDDINGS, Cache, TrainingFolder, cache, can_plot, name_of
from .quality.options import TrainingOptions
from .quality.recipe import COMET, KINDS, PAPER, UNIFIED, Architecture, Recipe

if TYPE_CHECKING:
    from ..meta.scoring import MetricSettings
    from .quality.development import DevelopmentSet
    from .quality.examples import TrainingSet

SUMMARY = "train a metric on human judgements"

CACHE_MB = 8192
USAGE = "%(prog)s NETWORK --train PATH[:WEIGHT[:ROWS]] [...] --dev PATH [...] --out FOLDER [flags]"
EPILOG = """\
NETWORK:
  bilstm, bilstmatt, esim   the networks of Mathur, Baldwin and Cohn (2019) over frozen embeddings
  comet                     the small regressor that comet and slide use by default; it trains in a minute
  pairwise                  which of two outputs is the better one, by Guzman et al. (2015); it has flags of its own, which
                            `ctx-metrics train pairwise --help` shows

--train and --dev take data of `ctx-metrics meta` with scores of segments, or with better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, MLQE-PE, and any TSV or .jsonl with mt, score, and ref or src.

After Ctrl-C, a crash or a power cut, run the same command again: it continues where it stopped.

examples:
  # on judgements of your own, one per line with mt, ref, score and rater
  ctx-metrics train esim --train judged.tsv --dev held-out.tsv --out my-esim

  # WMT16 at full weight, MQM at a tenth; a loss that also ranks outputs; tau over preferences chooses the weights
  ctx-metrics train bilstm --train DAseg-wmt-newstest2016:1 mqm.zh-en.tsv:0.1 -l cs-en de-en zh-en \\
      --loss mse+hinge --dev preferences.tsv --dev-metric darr --out my-bilstm

  # without references, on a multilingual encoder
  ctx-metrics train esim --inputs mt+src --encoder xlm-roberta-base --train mlqe.tsv --dev mlqe-dev.tsv --out my-qe

  # one that ranks the outputs of a source, and also learns from errors inserted into references
  ctx-metrics train comet --inputs mt+src+ref --encoder multilingual --train mqm.en-de.tsv --synthetic WMT19 \\
      --dev dev.en-de.tsv --loss mse+hinge --out my-ranker

  # a small network that imitates a big one
  ctx-metrics train esim --teacher comet --comet-model Unbabel/wmt22-unite-da --comet-inputs mt+ref --train texts.tsv \\
      --dev dev.tsv --out small
"""
# flags that do not apply to `comet`, and why
NOT_OF_COMET = {
    "projection": "which has no projection",
    "pooling": "which has its own pooling",
    "max_length": "which reads as many tokens as its encoder",
    "cache": "which does not keep states of tokens",
    "rank": "which changes its encoder only with --inputs",
    "init_share": "which writes the learned weights; with --inputs it can keep a share of the first weights",
}
NOT_OF_NETWORKS = {"rank": "which does not change its encoder", "init_share": "which writes the learned weights"}
NOT_OF_UNIFIED = {
    **{name: why for name, why in NOT_OF_COMET.items() if name in ("projection", "pooling", "cache")},
    "layers": "which mixes all of them with --inputs",
    "hidden": "which has no BiLSTM",
    "dropout": "whose rate is fixed with --inputs",
}


@dataclass(frozen=True)
class Data:
    """Flags for the network, the training data, and the development data."""

    kind: str = setting(f"One of {', '.join(KINDS)}; or pairwise, before all flags.", flag="NETWORK", choices=KINDS)
    train: Files = setting(
        "Training data. Each row of a path counts WEIGHT times in the loss (default: 1); at most ROWS rows of each "
        "of its data sets are used, in whole documents or segments.",
        group="data",
        required=True,
        metavar="PATH[:WEIGHT[:ROWS]]",
    )
    dev: Files = setting(
        "Development data: the weights that agree best with people here are kept. Do not train or test on it.",
        required=True,
        metavar="PATH",
    )
    dev_metric: Literal["pearson", "darr"] = setting(
        "Measure of agreement, averaged over the data sets of --dev: Pearson's r, or WMT's tau over pairs of a "
        "better and a worse output of a segment.",
        "pearson",
    )
    dev_threshold: AtLeast0 | None = setting(
        "Minimum difference between two human scores to form a pair for darr; WMT uses 25 points of 100. (Default: any)"
    )
    normalise: Literal["annotator", "file", "none"] = setting(
        "Turn human scores into z-scores: for each annotator within a data set, if annotators are named; for each "
        "data set; or not at all.",
        "annotator",
    )
    average: bool = setting(
        "Average the judgements of an output to one row. By default each judgement is a row, because many noisy "
        "rows teach more than few clean ones.",
        False,
    )
    keep_humans: bool = setting(
        "Also learn from human translations among the systems; the reference counts as a translation of "
        "its source. (Default: leave them out)",
        False,
    )
    no_mqm_root: bool = setting("Learn penalties such as MQM's unchanged. (Default: as minus their square root)", False)
    centred: Files | None = setting(
        "Paths of --train from which the model learns only the differences between the outputs of a segment, not the "
        "scores. Use it for data whose scores depend more on the source than on the outputs.",
        metavar="PATH",
    )
    window: Positive | None = setting(
        "Also learn from windows of 2 to N consecutive sentences of a document, with their mean score: for slide."
    )
    synthetic: Files | None = setting(
        "Clean translations (sources with references) for comet with --inputs mt+src and mt+src+ref: each epoch inserts "
        "errors into them, and the model learns from the source alone how much these lower the score. Scores are not "
        "needed. ROWS limits the translations of each data set.",
        metavar="PATH[:WEIGHT[:ROWS]]",
    )
    rows: Amount | None = setting("Learn only from N rows, drawn by --seed. (Default: all)")
    leave_out: Files | None = setting(
        "Leave out training rows whose document or source is a line of these files, such as held-out documents or the "
        "sources of a test set. --dev keeps such rows."
    )
    no_text_checks: bool = flags.text_checks()
    teacher: Annotated[str, str.lower, "METRIC"] | None = setting(
        "Learn this metric's scores of the training texts (as z-scores) instead of human scores, which are then not "
        "needed. With mt+src, the teacher also reads the references, if there are any. `--teacher METRIC --help` shows "
        "its own flags.",
        choices=metric_names,
    )
    taught: Files | None = setting(
        "Paths of --train that learn the scores of --teacher, as z-scores of each data set; the others learn human scores. "
        "(Default: all, as z-scores of all rows)",
        metavar="PATH",
    )
    teacher_scores: NewFile | None = setting(
        "File for the teacher's scores; if it exists, they are read from it, so that several networks can learn from the "
        "same texts."
    )


@dataclass(frozen=True)
class Model:
    init: Folder | None = setting(
        "Start from a trained model of the same network and sizes: a folder, or embedded. comet --inputs also takes one "
        "with a lower rank, or that reads more texts."
    )
    init_share: Share | None = setting(
        "Share of the weights of --init in the written weights, from 0 to 1: .5 writes the mean of the first and "
        "the learned weights, which is often better than both. (Default: none)"
    )
    languages: Languages | None = setting(
        "Languages of the model, written to its card and config.json. (Default: the target languages in the names "
        "of the data; en with the embedded encoder)"
    )


@dataclass(frozen=True)
class Output(TrainingFolder):
    cache: Cache | None = cache("the encoder's states of all texts", "on the same encoder and layers")
    cache_mb: Amount = setting(
        "Maximum disk space for --cache, in MiB; texts beyond it are encoded again in each epoch.", CACHE_MB
    )
    no_plot: bool = setting("Draw no learning curve.", False)


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    table = metric_table()
    parts: Sequence[Part] = [
        Data,
        TrainingOptions,
        (Architecture, {"": Architecture("")}),
        Model,
        (Recipe, {"": PAPER, "comet": COMET, "comet --inputs": UNIFIED}),
        Output,
        flags.quiet(),
        ("engine of the encoder", EngineOptions),
    ]
    add_all(parser, parts)
    teacher, own = teacher_of(argv), []
    if teacher in table.plugins:
        own = add_metric_arguments(parser, teacher, table)
    elif teacher in SACREBLEU:
        own = add_sacrebleu_arguments(parser, [teacher])[teacher]
    parser.set_defaults(own={teacher: own})


def teacher_of(argv: Sequence[str]) -> str | None:
    """Return the metric that --teacher names, before the command line is parsed.

    >>> teacher_of(["esim", "--teacher", "COMET"]), teacher_of(["--teacher=bleu"]), teacher_of(["comet"])
    ('comet', 'bleu', None)
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--teacher", nargs="?", type=str.lower)
    return parser.parse_known_args(argv)[0].teacher


def run(line: CommandLine) -> int:
    data, architecture = line[Data], line[Architecture]
    usual = PAPER if data.kind != "comet" else UNIFIED if architecture.unified else COMET
    recipe = from_flags(Recipe, line, usual=usual)
    _check(line, architecture, recipe)
    [teacher] = [None] if data.teacher is None else chosen_metrics(line, [data.teacher])
    return line[Output].run(lambda: _train(line, recipe, teacher))


def _check(line: CommandLine, architecture: Architecture, recipe: Recipe) -> None:
    from .data import check_pairs

    data, model, error, kind = line[Data], line[Model], line.error, architecture.kind
    refused = NOT_OF_UNIFIED if architecture.unified else NOT_OF_COMET if kind == "comet" else NOT_OF_NETWORKS
    given = {**vars(data), **vars(model), **vars(line[Output]), **vars(architecture)}
    for name, why in refused.items():
        if given[name] is not None:
            error(f"--{name.replace('_', '-')} is not for {kind}, {why}")
    if architecture.inputs == "mt+src+ref" and kind != "comet":
        error(f"{kind} reads mt+ref or mt+src; for mt+src+ref train comet")
    for name in ("language_tag", "plain_quotes"):
        if getattr(architecture, name) and not architecture.unified:
            error(f"--{name.replace('_', '-')} works only with comet --inputs")
    if data.synthetic and not (architecture.unified and "src" in architecture.reads):
        error(
            "--synthetic is only for comet with --inputs mt+src or mt+src+ref, which learns to score without references"
        )
    if data.window == 1:
        error("--window 1: a window has at least 2 sentences")
    if data.dev_threshold is not None and data.dev_metric != "darr":
        error("--dev-threshold works only with --dev-metric darr")
    if model.init_share is not None and not model.init:
        error("--init-share keeps a share of the weights of --init; give --init too")
    if data.teacher_scores and not data.teacher:
        error("--teacher-scores works only with --teacher METRIC")
    if data.taught and not data.teacher:
        error("--taught works only with --teacher METRIC")
    check_pairs(line, line[TrainingOptions].pairs)
    for path in data.dev:
        name, _, _weight = path.rpartition(":")
        if os.path.exists(name) and not os.path.exists(path):
            error(f"--dev {path}: only --train takes weights; name {name}")
    if "margin" in line and "hinge" not in recipe.loss:
        error("--margin works only with --loss hinge and mse+hinge")


def _train(line: CommandLine, recipe: Recipe, teacher: "MetricSettings | None") -> None:
    """Train a model, write its folder, and print how well it performs."""
    # here, so that a Ctrl-C while torch is imported is caught too
    from ..cli.common.output import table
    from ..language import primary
    from ..models.folder import read_config
    from ..writing import check_writable
    from .card import command
    from .data import Source, as_json, guard, known_languages, target_languages
    from .quality import report
    from .quality.development import read_development
    from .quality.examples import read_training_set, some_rows, with_windows
    from .quality.judgements import check_columns, share
    from .quality.learn import learn
    from .quality.synthetic.pairs import read_clean_pairs
    from .quality.teacher import taught
    from .quality.unified import learn_unified

    data, architecture, model = line[Data], line[Architecture], line[Model]
    output, engine = line[Output], line[EngineOptions]
    options = replace(line[TrainingOptions], text_checks=not data.no_text_checks)
    if data.teacher_scores and not os.path.exists(data.teacher_scores):
        check_writable(data.teacher_scores)
    with_curve = not output.no_plot and can_plot()
    inputs, rooted = architecture.reads, not data.no_mqm_root
    paths = [share(path).path for path in data.train]
    check_columns([*paths, *data.dev], options.score or ())
    spelled = {os.path.realpath(path): path for path in paths}  # ./x.tsv is x.tsv
    of_teacher, centred = (
        tuple(spelled.get(os.path.realpath(path), path) for path in named or ())
        for named in (data.taught, data.centred)
    )
    learning = () if teacher is None else of_teacher or paths
    training = read_training_set(
        data.train,
        inputs,
        data.normalise,
        data.average,
        rooted,
        options,
        learning,
        recipe.seed,
        data.keep_humans,
        leave_out=data.leave_out or (),
        centred=centred,
    )
    development = read_development(data.dev, data.dev_metric, inputs, data.dev_threshold or 0.0, options)
    _say_shared(training.read_as(inputs), development)
    synthetic = None
    if data.synthetic:
        synthetic = read_clean_pairs(data.synthetic, options, recipe.seed, data.leave_out or (), development.sources)
    known = known_languages([*training.datasets, *(part.name for part in development.parts)], options.pairs)
    if architecture.encoder == "embedded":
        sides = [0, 1] if "src" in inputs else [1]
        partners = training.read_as(inputs).partners
        unknown = [
            [text for text, dataset in zip(texts, training.datasets, strict=True) if dataset == name]
            for name, pair in known.items()
            for texts in (partners, training.hypotheses)
            if None in pair
        ]
        read = [pair[side] for pair in known.values() for side in sides]
        if synthetic is not None:
            read += [language for pair in synthetic.pairs for language in (pair.source_lang, pair.target_lang)]
        guard(f"train {data.kind}", "encoder" in line, read, unknown)
    if data.window is not None:
        training = with_windows(training, data.window, recipe.seed)
    if data.rows is not None:
        training = some_rows(training, data.rows, recipe.seed)
    of_people: dict[str, Any] = {
        "normalise": data.normalise,
        "average": data.average,
        "penalties_rooted": training.rooted,
        **({"of_systems": training.by_system} if training.by_system else {}),
    }
    targets = of_people
    if teacher:
        kept = Path(data.teacher_scores) if data.teacher_scores else None
        training, signature = taught(
            training, teacher, languages=known, of_each_set=bool(of_teacher), engine=engine, kept=kept
        )
        training = training.read_as(inputs)
        targets = {"teacher": f"{teacher.name}|{signature}"}
        if of_teacher:
            targets = {**of_people, **targets, "taught": [name_of(path) for path in of_teacher]}
            training.scores.update(dict.fromkeys(of_teacher, teacher.name))
    sources = {
        "train": [
            Source.of(path, training.counts[path], weight, training.scores.get(path, ""))
            for path, weight, _ in map(share, data.train)
        ],
        "development": [
            Source.of(path, development.counts[path], scores=development.origins.get(path, "")) for path in data.dev
        ],
    }
    if training.left_out:
        sources["left_out"] = [Source.of(path, counts) for path, counts in training.left_out.items()]
    if synthetic is not None and data.synthetic:
        sources["synthetic"] = [
            Source.of(path, synthetic.counts[path], weight) for path, weight, _ in map(share, data.synthetic)
        ]
    init = _first_weights(model.init, architecture)
    first = {} if init is None else read_config(init)
    commands = [*first.get("commands", []), command(line.argv)]  # the whole history of the model
    output.begin()
    languages = model.languages or target_languages(architecture.encoder, known)
    if languages and first.get("languages") and not model.languages:
        languages = sorted({*first["languages"], *languages})
    learned_from = [known[name][0] for name in dict.fromkeys(training.datasets)]
    common: dict[str, Any] = {
        "out": output.path,
        "engine": engine,
        "languages": languages,
        "notes": {"data": as_json(sources), "targets": targets, "commands": commands},
        "init": init,
    }
    given = architecture, recipe, training, development
    if architecture.unified:
        spoken = {name: target for name, (_, target) in known.items()}
        if synthetic is not None:
            spoken |= {pair.dataset: pair.target_lang for pair in synthetic.pairs}
            learned_from += [pair.source_lang for pair in synthetic.pairs]
        source_languages = sorted({*map(primary, filter(None, learned_from)), *(first.get("source_languages") or ())})
        common |= {"window": data.window, "spoken": spoken, "synthetic": synthetic}
        common["source_languages"] = None if None in learned_from else source_languages
        trained = learn_unified(*given, init_share=model.init_share or 0.0, **common)
    else:
        states = Path(output.cache or output.path / EMBEDDINGS)
        trained = learn(*given, cache=states, cache_mb=output.cache_mb, **common)
    best, found = trained.checks[trained.best], trained.config["development"]
    rows = [[name, f"{score:.4f}"] for name, score in found["sets"].items()]
    mean = [["mean", f"{found['score']:.4f}"]] * (len(rows) > 1)
    segments, outputs, sets = len(set(training.groups)), len(development.hypotheses), len(development.parts)
    output.finish(
        trained.checks,
        card=report.card(output.name, data.kind, trained, sources),
        curve=report.curve(trained, output.name) if with_curve else None,
        lines=[
            table(["Development set", report.METRICS[found["metric"]]], [*rows, *mean]),
            f"Learned from {counted(len(training), 'row', 'rows')} of {counted(segments, 'segment', 'segments')}; "
            f"chosen on {counted(outputs, 'output', 'outputs')} of {counted(sets, 'data set', 'data sets')}",
            *([] if synthetic is None else [synthetic.in_words()]),
            f"Best check: {trained.best + 1} of {len(trained.checks)}, after {best.rows:,} rows (epoch {best.epoch})",
        ],
        uses=report.uses(data.kind, output.out, inputs),
    )
    if best.score <= 0:
        notice("the best check agrees with people no better than chance: do not use this model")


def _say_shared(training: "TrainingSet", development: "DevelopmentSet") -> None:
    trained = set(zip(training.hypotheses, training.partners, strict=True))
    pairs = list(zip(development.hypotheses, development.partners, strict=True))
    if shared := sum(pair in trained for pair in pairs):
        notice(
            f"{shared} of {len(pairs)} development outputs are in the training data too, so their score is too optimistic"
        )


def _first_weights(init: str | None, architecture: Architecture) -> Path | None:
    """Return the folder that --init names; for "embedded", the folder of the network's embedded model."""
    from ..models.estimator import EMBEDDED_FOLDER, EMBEDDED_REFERENCELESS, EMBEDDED_UNIFIED

    if init == "embedded":
        if architecture.unified:
            return EMBEDDED_REFERENCELESS if architecture.inputs == "mt+src" else EMBEDDED_UNIFIED
        return EMBEDDED_FOLDER if architecture.kind == "comet" else EMBEDDED_FOLDER.parent / architecture.kind
    return Path(init) if init else None
