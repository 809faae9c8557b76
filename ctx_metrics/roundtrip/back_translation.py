"""Back-translation: its settings and flags --rtt-*, and the interface of back-translators. Imports no torch."""

import re
import shlex
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, fields
from os.path import expanduser
from pathlib import Path
from typing import ClassVar, NamedTuple

from ..errors import InputError
from ..flag_types import Few, Positive
from ..paths import Reads, Writes, named
from ..scale.folders import user_cache
from ..settings import setting

BATCH_LINES = 100
START_SECONDS, LINE_SECONDS = 600, 60  # a command's default time limit: the least for a start, and that for each line
NO_CACHE = "none"


def checked_spec(text: str) -> str:
    kind, colon, rest = text.partition(":")
    if kind not in ("hf", "cmd") or not colon or not rest.strip():
        raise ArgumentTypeError(
            f"{text!r} is not a back-translator: give hf:MODEL, such as hf:Helsinki-NLP/opus-mt-de-en, or cmd:'COMMAND'"
        )
    return text


def files_of_spec(spec: str) -> list[str]:
    """The files that a back-translator names: the model's folder, or words of the command."""
    kind, _, rest = spec.partition(":")
    try:
        words = [rest] if kind == "hf" else shlex.split(rest)
    except ValueError:  # a quotation mark that is not closed, which is an error where the command is started
        words = rest.split()
    return [path for word in words for path in named(word)]


def checked_label(text: str) -> str:
    """Return a name that can stand in a signature, for argparse."""
    if not re.fullmatch(r"[\w.@+/-]+", text):
        raise ArgumentTypeError(
            f"{text!r} is not a name of a back-translator: use only letters, digits and . _ - + @ /"
        )
    return text


@dataclass(frozen=True)
class BackTranslation:
    """label    the user's name for the back-translator, added to its identity; also used for round trips from files

    Raises InputError for an invalid spec or label, and for settings that the back-translator does not support.
    """

    PREFIX: ClassVar = "--rtt-"

    spec: str | None = setting(
        "The back-translator: a translation model of transformers (a folder, or a hub name[@revision]), or a command "
        "that reads lines on its standard input and writes one line for each.",
        flag="bt",
        type=Reads(checked_spec, files_of_spec),
        metavar="hf:MODEL|cmd:COMMAND",
    )
    label: str | None = setting(
        "A label that is added to the back-translator's identity, such as the name of an online service and the date.",
        flag="bt-name",
        type=checked_label,
        metavar="NAME",
    )
    source_code: str | None = setting(
        "The model's code for the outputs' language, such as deu_Latn. (Default: from -l)",
        flag="bt-from",
        metavar="CODE",
    )
    target_code: str | None = setting(
        "The model's code for the source language. (Default: from -l)", flag="bt-to", metavar="CODE"
    )
    beams: Few | None = setting("Number of beams in the model's search; 1 is greedy. (Default: the model's setting)")
    max_length: Positive | None = setting("Maximum number of tokens in a translation. (Default: the model's setting)")
    cache: str | None = setting(
        "Folder that keeps translations for the next run; none keeps nothing. (Default: ctx-metrics/roundtrip in the "
        "user's cache)",
        type=Writes(str, targets=lambda _, cache: [] if cache == NO_CACHE else [(expanduser(cache), "*.sqlite3")]),
        metavar="FOLDER",
    )
    batch_lines: Positive | None = setting(
        "Number of lines that a command gets each time it is started. Give more if it is slow to start, and 1 if "
        f"neighbouring lines change how it translates a line. (Default: {BATCH_LINES})"
    )
    timeout: Positive | None = setting(
        "Seconds that a command may take for these lines before it is stopped. "
        f"(Default: {LINE_SECONDS} per line, at least {START_SECONDS})",
        metavar="SECONDS",
    )

    def __post_init__(self):
        for check, text in ((checked_spec, self.spec), (checked_label, self.label)):
            try:
                if text is not None:
                    check(text)
            except ArgumentTypeError as error:
                raise InputError(str(error)) from error
        names = {each.name: each.metadata["flag"] or each.name.replace("_", "-") for each in fields(self)}
        given = {key: self.PREFIX + name for key, name in names.items() if getattr(self, key) is not None}
        given.pop("label", None)
        if given and "spec" not in given:
            flag = next(iter(given.values()))
            raise InputError(f"{flag} works only with --rtt-bt", fix="give both, or leave it out")
        of_models = [given[key] for key in ("source_code", "target_code", "beams", "max_length") if key in given]
        if self.is_command and of_models:
            raise InputError(f"{of_models[0]} is for hf: back-translators", fix="for cmd:, put it into the command")
        if not self.is_command and self.batch_lines:
            raise InputError("--rtt-batch-lines is for cmd: back-translators", fix="--ctx-batch-tokens is for models")
        if not self.is_command and self.timeout:
            raise InputError("--rtt-timeout is for cmd: back-translators, and this one is a model", fix="leave it out")

    @property
    def is_command(self) -> bool:
        return (self.spec or "").startswith("cmd:")

    @property
    def translator(self) -> str:
        """The name of the model, or the command; "" without a back-translator."""
        return (self.spec or "").partition(":")[2]

    @property
    def cache_folder(self) -> Path | None:
        if self.cache == NO_CACHE:
            return None
        return Path(self.cache).expanduser() if self.cache else user_cache() / "roundtrip"


class Translation(NamedTuple):
    text: str
    input_cut: bool = False  # the line was truncated to the model's limit
    output_cut: bool = False  # the translation was truncated at its maximum length


class BackTranslator(ABC):
    """Translates outputs into the source language.

    name    its identity for signatures and cached translations: equal names give equal translations; contains no secrets
    """

    name: str

    @abstractmethod
    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        """Split the lines, in any order, into the portions that are passed to `translate` one after another."""

    @abstractmethod
    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """Return one translation for each line of a portion, in the same order; no text contains a line end."""
