"""Flags that several subcommands have: each function returns a setting, to stand as a field of a subcommand's settings."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ... import language
from ...errors import InputError
from ...notices import notice
from ...separated import SEPARATED
from ...settings import Group, setting

ENDINGS = {ending: ending for ending in (*SEPARATED, "jsonl", "json")}  # endings of -o, and the formats they select
TABLES = ENDINGS | {"tex": "latex", "md": "markdown"}  # those of tables for papers too
Format = Literal["table", "tsv", "csv", "jsonl", "json"]


def language_pair(text: str) -> tuple[str, str]:
    try:
        return language.language_pair(text)
    except InputError as error:
        raise ArgumentTypeError(str(error)) from error


def languages(help: str = "Source and target language, such as de-en.") -> Any:
    return setting(help, flag="-l --language-pair", type=language_pair, metavar="PAIR")


def encoding(help: str = "Encoding of all files that are read.") -> Any:
    return setting(help, "utf-8", flag="-e --encoding")


def text_checks() -> Any:
    return setting(
        "Do not check the texts for HTML entities, shifted lines, copies of the source, other languages and repetitions.",
        False,
    )


def unescape() -> Any:
    return setting(
        "Replace HTML entities in all texts before scoring: &amp; &lt; &gt; &quot; &apos; and numbers (&#39;).", False
    )


def names(whose: str) -> Any:
    return setting(
        f"Names of the systems, in the order of the files. (Default: the names of {whose} files)", metavar="NAME"
    )


def score_format(help: str, group: str = "") -> Any:
    text = f"{help} (Default: by the ending of -o, if it is .tsv, .csv, .jsonl or .json, else table)"
    return setting(text, group=group)


def format_of(form: str | None, path: str | None, endings: Mapping[str, str] = ENDINGS) -> str:
    """Return the format that --format names, or else the one that the ending of -o selects, or else table.

    A .csv file always holds CSV, since spreadsheets open it as that.
    """
    ending = (path or "").rpartition(".")[2].lower()
    if ending == "csv" and form not in (None, "csv"):
        notice(f"{path}: a .csv file holds CSV, so --format {form} is not used")
        return "csv"
    if form is None and ending == "tex" and "tex" not in endings:
        raise InputError(f"cannot write {path}: this command writes no LaTeX, but ctx-metrics compare does")
    return form or endings.get(ending, "table")


def output(help: str = "Output file, instead of standard output (-).") -> Any:
    return setting(help, flag="-o --output")


def quiet(help: str = "No progress bars.") -> Callable[[Group], object]:
    return lambda group: group.add_argument("-q", "--quiet", action="store_true", help=help)
