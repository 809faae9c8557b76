"""Paraphrase classifiers: train one on labelled sentence pairs, or score pairs with one.

A classifier gives the chance that two sentences say the same. The metrics prsentbleu, prbleu and prchrf keep those
pseudo-references that it calls paraphrases of the reference.
"""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..flag_types import above_0, at_least_0, file_or_share, output_file, patience, positive, rank, seed
from ..notices import notice
from ..run.flags import add_engine_arguments, engine_options
from ..writing import check_writable, leftovers, remove_leftovers, write_whole
from .common import trainings

if TYPE_CHECKING:
    from ..training.paraphrase.data import LabelledPairs
    from ..training.paraphrase.recipe import ParaphraseRecipe

EPILOG = """\
examples:
  # the embedded classifier on MRPC's test set: a probability a line, and how often it is right
  ctx-metrics paraphrase score msr_paraphrase_test.txt

  # pseudo-references against references, a sentence a line
  ctx-metrics paraphrase score pseudo.txt ref.txt --model my-classifier

  # one's own: low-rank changes of the embedded encoder, or all weights of another
  ctx-metrics paraphrase train --train msr_paraphrase_train.txt --dev 0.1 --out my-classifier
  ctx-metrics paraphrase train --train train.tsv --dev dev.tsv --encoder bert-base-uncased --rank 0 --out my-bert
"""
PAIRS = (
    "a TSV with a header that names sentence1, sentence2 and label (1 for a paraphrase, 0 for none), such as PAWS, or "
    "MRPC's own file; also .gz and .xz"
)
OTHER = "name a model of its language with {}"


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add the flags of the subcommand."""
    parser.epilog = EPILOG
    commands = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)
    for name, add, run_command, what in (
        ("train", _add_train, _train, "train a classifier on labelled pairs"),
        ("score", _add_score, _score, "the probability of each pair"),
    ):
        command = commands.add_parser(name, help=what, description=what, formatter_class=RawDescriptionHelpFormatter)
        add(command)
        add_engine_arguments(command.add_argument_group("engine"))
        command.add_argument("-q", "--quiet", action="store_true", help="No progress bars.")
        command.set_defaults(run_command=run_command, command_parser=command, argv=list(argv))


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    return args.run_command(args)


def _add_train(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--train",
        nargs="+",
        action="extend",
        required=True,
        type=expanduser,
        metavar="FILE",
        help=f"Labelled pairs to learn from: {PAIRS}.",
    )
    group.add_argument(
        "--dev",
        required=True,
        type=file_or_share,
        metavar="FILE|SHARE",
        help="Labelled pairs that choose the epoch: a file, or a share of --train such as 0.1, drawn by --seed.",
    )
    group = parser.add_argument_group("training")
    group.add_argument("--encoder", default="embedded", metavar="MODEL", help="(Default: embedded, English only)")
    group.add_argument(
        "--rank",
        type=rank,
        metavar="N",
        help="Learn changes of this rank over the encoder, which stays where it is: a few MB. 0: learn and write all of "
        "its weights, as a checkpoint of transformers. (Default: 32)",
    )
    group.add_argument("--epochs", type=positive, metavar="N", help="Most epochs. (Default: 5; of rank 0: 3)")
    group.add_argument(
        "--patience",
        type=patience,
        metavar="N",
        help="Epochs in a row without a higher accuracy on --dev that end the training; none: never. (Default: none)",
    )
    group.add_argument("--batch", type=positive, metavar="N", help="Pairs of a step. (Default: 32)")
    group.add_argument(
        "--learning-rate", type=above_0, metavar="X", help="AdamW's, at its highest. (Default: 7e-4; of rank 0: 2e-5)"
    )
    group.add_argument("--weight-decay", type=at_least_0, metavar="X", help="AdamW's. (Default: 0.01)")
    group.add_argument(
        "--swap",
        choices=["yes", "no"],
        help="Turn each pair round with a chance of one half. (Default: yes; of rank 0: no, as BERT's recipe)",
    )
    group.add_argument("--max-length", type=positive, metavar="N", help="Tokens of a pair, at least 5. (Default: 128)")
    group.add_argument("--seed", type=seed, metavar="N", help="Of all that is drawn. (Default: 1)")
    group.add_argument("--out", required=True, type=expanduser, metavar="FOLDER", help="The model's folder.")
    group.add_argument("--overwrite", action="store_true", help="Replace the model that --out holds.")
    group.add_argument(
        "--restart", action="store_true", help="Begin anew where --out holds the state of a training that was stopped."
    )


def _add_score(parser: ArgumentParser) -> None:
    parser.add_argument(
        "pairs",
        nargs="+",
        type=expanduser,
        metavar="FILE",
        help="One file: pairs with a header that names sentence1 and sentence2 (with label, accuracy, F1 and AUC are said "
        "on stderr), or MRPC's own. Two files: first and second sentences, one a line; for pseudo-references the "
        "references are second.",
    )
    parser.add_argument(
        "--model",
        default="embedded",
        metavar="MODEL",
        help="embedded, a folder that `train` wrote, or any sequence classifier of two labels or one logit: a folder or a "
        "hub name[@revision]. (Default: embedded, English only)",
    )
    parser.add_argument(
        "--max-length",
        type=positive,
        metavar="N",
        help="Tokens kept of a pair, at least 5 with BERT's three special ones. (Default: 128, or what the model can read)",
    )
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="In place of the standard output (-).")
    parser.add_argument("-w", "--width", type=positive, default=6, metavar="N", help="Decimals. (Default: 6)")


def recipe_of(args: Namespace) -> "ParaphraseRecipe":
    """The usual recipe for the rank, with what the command line says in its place."""
    from ..training.paraphrase.recipe import ADAPTED, WHOLE

    recipe = trainings.recipe_of(args, WHOLE if args.rank == 0 else ADAPTED)
    return recipe if args.swap is None else replace(recipe, swap=args.swap == "yes")


def _train(args: Namespace) -> int:
    _check_out(Path(args.out), args.overwrite)
    return trainings.run_resumable(args, _learn)


def _learn(args: Namespace) -> int:
    from ..language import guard_english
    from ..training.card import paraphrase_card
    from ..training.paraphrase.data import joined, read_labelled, split
    from ..training.paraphrase.learn import learn, write_model
    from ..training.state import STATE
    from .common import output

    out, recipe = Path(args.out), recipe_of(args)
    read = {path: read_labelled(path) for path in args.train}
    training = joined(list(read.values()))
    drawn = ""
    if isinstance(args.dev, float):
        whole = training
        training, development = split(whole, args.dev, recipe.seed)
        drawn = f"{len(development):,} of the {len(whole):,} pairs, drawn by the seed, are for development alone."
    else:
        development = read_labelled(args.dev)
    if shared := len(set(training.pairs) & set(development.pairs)):
        notice(f"{shared} of the development pairs are in the training data too: their figures flatter the model")
    if args.encoder == "embedded":
        texts = (pair[0] for pair in training.pairs)
        guard_english("paraphrase train", "--encoder", True, None, texts, OTHER.format("--encoder"))
    remove_leftovers(out)
    if args.restart:
        (out / STATE).unlink(missing_ok=True)
    trained = learn(args.encoder, recipe, training, development, engine_options(args), out / STATE)
    counts = {path: {"rows": len(of), "kept": len(of)} for path, of in read.items()}
    sources = {"train": [trainings.source(path, count) for path, count in counts.items()], "development": []}
    if not drawn:
        number = len(development)
        sources["development"] = [trainings.source(args.dev, {"rows": number, "kept": number})]
    notes = {
        "languages": ["en"] if args.encoder == "embedded" else None,
        "data": {name: [each.as_json() for each in of_name] for name, of_name in sources.items()},
        "pairs": {"train": len(training), "development": len(development)},
    }
    write_model(trained, recipe, out, args.encoder, notes)
    (out / STATE).unlink(missing_ok=True)
    text = paraphrase_card(trainings.name_of(args.out), trained, recipe, sources, drawn, args.argv)
    write_whole(str(out / trainings.CARD), text)
    rows = [[figure, f"{value:.4f}"] for figure, value in trained.development.items()]
    print(output.table([f"Development pairs ({len(development):,})", ""], rows))
    print(f"Best epoch: {trained.checks[trained.best].epoch} of {len(trained.checks)}, {len(training):,} pairs each")
    print(f"Use: ctx-metrics paraphrase score PAIRS --model {args.out}")
    return 0


def _check_out(out: Path, overwrite: bool) -> None:
    """Raise InputError, before anything is read, where --out holds something else than a stopped training; makes nothing."""
    from ..training.state import STATE

    check_writable(str(out), folder=True)
    there = {path.name for path in {*out.iterdir()} - {*leftovers(out)}} if out.is_dir() else set()
    if there and not there & {STATE, "config.json"}:
        raise InputError(f"{out} holds other things; name a new or empty folder with --out")
    if "config.json" in there and not overwrite:
        raise InputError(f"{out} holds a model already; name another folder with --out, or replace it with --overwrite")


def _score(args: Namespace) -> int:
    from ..judgements.readers.sentence_pairs import say_empty
    from ..language import guard_english
    from ..models.paraphrase.classifier import MAX_LENGTH, ParaphraseClassifier
    from .common import output

    if len(args.pairs) > 2:
        args.command_parser.error("name one file of pairs, or two of sentences")
    check_writable(args.output)
    pairs, labelled = _read(args.pairs)
    if labelled is None:  # else reading has said it
        say_empty(" and ".join(args.pairs), pairs)
    classifier = ParaphraseClassifier(args.model, engine_options(args), args.max_length or MAX_LENGTH)
    if args.model == "embedded":
        texts = (text for pair in pairs for text in pair)
        guard_english("paraphrase score", "--model", False, None, texts, OTHER.format("--model"))
    if args.max_length and classifier.limit < args.max_length:
        notice(f"--max-length {args.max_length}: the model reads {classifier.limit} tokens at most, which are kept")
    found = classifier.probabilities(pairs)
    output.write("".join(f"{value:.{args.width}f}\n" for value in found), args.output)
    if labelled is not None:
        from ..training.paraphrase.task import figures

        values = figures(found, labelled.labels).items()
        said = ", ".join(f"{name} {'-' if isnan(value) else f'{value:.4f}'}" for name, value in values)
        notice(f"{args.pairs[0]}: {len(pairs):,} pairs; {said}")
    if not args.quiet:
        parts = {**classifier.signature(), "maxlen": classifier.limit, "dtype": args.ctx_dtype}
        notice("paraphrase|" + "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None))
    return 0


def _read(paths: Sequence[str]) -> "tuple[list[tuple[str, str]], LabelledPairs | None]":
    """The pairs of one file, with their labels where it has them, or of two."""
    from ..corpus import read_lines
    from ..judgements.readers.rows import header_of, read_rows
    from ..judgements.readers.sentence_pairs import UnknownLayout
    from ..training.paraphrase.data import read_labelled

    if len(paths) == 2:
        first, second = map(read_lines, paths)
        if len(first) != len(second):
            raise InputError(
                f"{paths[0]} has {len(first)} lines, and {paths[1]} {len(second)}: a line each makes a pair"
            )
        return list(zip(first, second, strict=True)), None
    header, parted = header_of(paths[0])
    if {"sentence1", "sentence2"} <= set(header) and "label" not in header and parted == "\t":
        _, rows = read_rows(paths[0], ["sentence1", "sentence2"])
        return [(cells["sentence1"], cells["sentence2"]) for _, cells in rows], None
    try:
        labelled = read_labelled(paths[0], alike=True)
    except UnknownLayout as error:
        raise InputError(f"{error}; or name two files of sentences, a line each") from error
    return labelled.pairs, labelled
