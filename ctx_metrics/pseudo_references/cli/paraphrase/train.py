"""Train a classifier on labelled pairs."""

from dataclasses import dataclass, replace

from ....cli.common import flags
from ....engine_options import EngineOptions
from ....errors import InputError
from ....flag_types import Files, Model
from ....notices import notice
from ....paths import Reads
from ....settings import CommandLine, from_flags, setting
from ....training.flag_types import file_or_share
from ....training.folder import CARD, STATE, TrainingFolder
from ....writing import check_writable, leftovers, remove_leftovers, write_whole
from ...paraphrase.recipe import ADAPTED, WHOLE, ParaphraseRecipe
from . import OTHER

SUMMARY = "train a classifier on labelled pairs"


@dataclass(frozen=True)
class Data:
    train: Files = setting(
        "Labelled pairs to learn from: a TSV with a header that names sentence1, sentence2 and label (1 for a paraphrase, 0 "
        "for none), such as PAWS, or MRPC's own file; also .gz and .xz.",
        group="data",
        required=True,
    )
    dev: str | float = setting(
        "Labelled pairs for choosing the best epoch: a file, or a share of --train such as 0.1, drawn by --seed.",
        required=True,
        type=Reads(file_or_share),
        metavar="FILE|SHARE",
    )
    encoder: Model = setting("(Default: embedded, English only)", "embedded", group="training")


class Output(TrainingFolder):
    """The output folder. Beside a stopped run or a model to replace, it may hold other files."""

    def check(self) -> None:
        check_writable(self.out, folder=True)
        names = (
            {path.name for path in {*self.path.iterdir()} - {*leftovers(self.path)}} if self.path.is_dir() else set()
        )
        if names and not names & {STATE, "config.json"}:
            raise InputError(f"{self.out} holds other files", fix="name a new or empty folder with --out")
        if "config.json" in names and not self.overwrite:
            raise InputError(
                f"{self.out} holds a model already",
                fix="name another folder with --out, or replace it with --overwrite",
            )


FLAGS = [Data, (ParaphraseRecipe, {"": ADAPTED, "of rank 0": WHOLE}), Output, ("engine", EngineOptions), flags.quiet()]


def run(line: CommandLine) -> int:
    return line[Output].run(lambda: train(line))


def train(line: CommandLine) -> None:
    from ....cli.common.output import table
    from ....language import guard_english
    from ....training.card import command
    from ....training.data import Source, as_json
    from ...paraphrase.data import joined, read_labelled, split
    from ...paraphrase.learn import card, learn, write_model

    data, output, recipe = line[Data], line[Output], recipe_of(line)
    out = output.path
    read = {path: read_labelled(path) for path in data.train}
    training = joined(list(read.values()))
    drawn = ""
    if isinstance(data.dev, float):
        whole = training
        training, development = split(whole, data.dev, recipe.seed)
        drawn = f"{len(development):,} of the {len(whole):,} pairs, drawn by the seed, are used only for development."
    else:
        development = read_labelled(data.dev)
    if shared := len(set(training.pairs) & set(development.pairs)):
        notice(f"{shared} of the development pairs are in the training data too, so their figures are too optimistic")
    if data.encoder == "embedded":
        texts = (pair[0] for pair in training.pairs)
        guard_english("paraphrase train", "--encoder", True, language=None, texts=texts, fix=OTHER.format("--encoder"))
    remove_leftovers(out)
    output.begin()
    trained = learn(data.encoder, recipe, training, development, engine=line[EngineOptions], state=out / STATE)
    sides = {"train": read, "development": {} if isinstance(data.dev, float) else {data.dev: development}}
    sources = {
        side: [Source.of(path, {"rows": len(pairs), "kept": len(pairs)}) for path, pairs in of_side.items()]
        for side, of_side in sides.items()
    }
    notes = {
        "languages": ["en"] if data.encoder == "embedded" else None,
        "data": as_json(sources),
        "pairs": {"train": len(training), "development": len(development)},
    }
    write_model(trained, recipe, out, data.encoder, notes)
    (out / STATE).unlink(missing_ok=True)
    text = card(output.name, trained, recipe, sources, drawn, command(line.argv, "paraphrase"))
    write_whole(str(out / CARD), text)
    rows = [[figure, f"{value:.4f}"] for figure, value in trained.development.items()]
    print(table([f"Development pairs ({len(development):,})", ""], rows))
    print(f"Best epoch: {trained.checks[trained.best].epoch} of {len(trained.checks)}, {len(training):,} pairs each")
    print(f"Use: ctx-metrics paraphrase score PAIRS --model {output.out}")


def recipe_of(line: CommandLine) -> ParaphraseRecipe:
    """Return the default recipe for the rank, changed by the other flags."""
    recipe = from_flags(ParaphraseRecipe, line, usual=WHOLE if line[ParaphraseRecipe].rank == 0 else ADAPTED)
    return replace(recipe, swap=recipe.swap in (True, "yes"))
