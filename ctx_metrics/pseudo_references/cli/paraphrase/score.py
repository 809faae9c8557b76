"""Print the probability that each pair is a paraphrase."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from ....cli.common import flags
from ....engine_options import EngineOptions
from ....errors import InputError
from ....flag_types import Decimals, Files, Model, OutputFile, Positive
from ....notices import notice
from ....settings import CommandLine, setting
from ....writing import check_writable
from . import OTHER

if TYPE_CHECKING:
    from ...paraphrase.data import LabelledPairs

SUMMARY = "print the probability that each pair is a paraphrase"


@dataclass(frozen=True)
class Pairs:
    pairs: Files = setting(
        "One file: pairs with a header that names sentence1 and sentence2, or MRPC's own format; with a column "
        "label, accuracy, F1 and AUC are printed on stderr. Two files: first and second sentences, one per line; "
        "for pseudo-references, give the references second.",
        flag="FILE",
    )
    model: Model = setting(
        "embedded, a folder that `train` wrote, or any sequence classifier with two labels or one logit: a folder or a "
        "hub name[@revision]. (Default: embedded, English only)",
        "embedded",
    )
    max_length: Positive | None = setting(
        "Maximum number of tokens in a pair, at least 5 with BERT's three special tokens. (Default: 128, or the "
        "model's limit)"
    )
    output: OutputFile | None = flags.output()
    width: Decimals = setting("Number of decimals.", 6, flag="-w --width")


FLAGS = [Pairs, ("engine", EngineOptions), flags.quiet()]


def run(line: CommandLine) -> int:
    from ....cli.common import output
    from ....judgements.readers.sentence_pairs import say_empty
    from ....language import guard_english
    from ...paraphrase.classifier import MAX_LENGTH, ParaphraseClassifier

    given, engine = line[Pairs], line[EngineOptions]
    if len(given.pairs) > 2:
        line.error("name one file of pairs, or two of sentences")
    check_writable(given.output)
    pairs, labelled = _read(given.pairs)
    if labelled is None:  # reading a labelled file already printed it
        say_empty(" and ".join(given.pairs), pairs)
    classifier = ParaphraseClassifier(given.model, engine, given.max_length or MAX_LENGTH)
    if given.model == "embedded":
        texts = (text for pair in pairs for text in pair)
        guard_english("paraphrase score", "--model", False, language=None, texts=texts, fix=OTHER.format("--model"))
    if given.max_length and classifier.limit < given.max_length:
        notice(
            f"--max-length {given.max_length}: the model reads at most {classifier.limit} tokens; longer pairs "
            "are cut there"
        )
    chances = classifier.probabilities(pairs)
    output.write("".join(f"{value:.{given.width}f}\n" for value in chances), given.output)
    if labelled is not None:
        from ...paraphrase.learn import figures

        values = figures(chances, labelled.labels).items()
        figures_text = ", ".join(f"{name} {'-' if isnan(value) else f'{value:.4f}'}" for name, value in values)
        notice(f"{given.pairs[0]}: {len(pairs):,} pairs; {figures_text}")
    if not engine.quiet:
        from ....engine.device import number_format

        dtype = number_format(engine.dtype, engine.device)
        parts = {**classifier.signature(), "maxlen": classifier.limit, "dtype": dtype}
        notice("paraphrase|" + "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None))
    return 0


def _read(paths: Sequence[str]) -> "tuple[list[tuple[str, str]], LabelledPairs | None]":
    from ....judgements.readers.rows import header_of, read_rows
    from ....judgements.readers.sentence_pairs import UnknownLayout
    from ....reading import read_lines
    from ...paraphrase.data import read_labelled

    if len(paths) == 2:
        first, second = map(read_lines, paths)
        if len(first) != len(second):
            raise InputError(
                f"{paths[0]} has {len(first)} lines, but {paths[1]} has {len(second)}",
                fix="a pair needs one line of each file",
            )
        return list(zip(first, second, strict=True)), None
    header, parted = header_of(paths[0])
    if {"sentence1", "sentence2"} <= set(header) and "label" not in header and parted == "\t":
        _, rows = read_rows(paths[0], ["sentence1", "sentence2"])
        return [(cells["sentence1"], cells["sentence2"]) for _, cells in rows], None
    try:
        labelled = read_labelled(paths[0], alike=True)
    except UnknownLayout as error:
        raise InputError(f"{error}; or name two files with one sentence per line") from error
    return labelled.pairs, labelled
