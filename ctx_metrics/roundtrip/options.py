"""How outputs are translated back, as one value, and the flags --rtt-* that give it. Importing it imports no torch."""

import argparse
import os
import re
from argparse import ArgumentTypeError, Namespace
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..flag_types import positive

BATCH_LINES = 100
START_SECONDS, LINE_SECONDS = 600, 60  # what a command may take unless --rtt-timeout says it: the first at least
NO_CACHE = "none"


@dataclass(frozen=True)
class BackTranslation:
    """Settings of the back-translation step (the flags --rtt-*).

    spec           hf:MODEL, a translation model of transformers, or cmd:COMMAND, which maps lines to lines
    label          the user's name for the back-translator, added to its identity
    source_code    the model's own code of the language that it translates from, that of the outputs; None: found by itself
    target_code    the same of the language that it translates into, the source language
    beams          of beam search, 1 for greedy; None: as the model's generation_config has it
    max_length     most tokens of a translation; None: as the model's generation_config has it
    cache          folder of the translations that are kept; None: the user's cache; "none": nothing is kept
    batch_lines    lines that the command gets at a time; None: 100
    timeout        seconds that the command may take for these; None: 60 a line, 600 at least

    Raises InputError for a spec or a label that is no such thing, and for settings that a command does not have.
    """

    spec: str
    label: str | None = None
    source_code: str | None = None
    target_code: str | None = None
    beams: int | None = None
    max_length: int | None = None
    cache: str | None = None
    batch_lines: int | None = None
    timeout: int | None = None

    def __post_init__(self):
        for check, text in ((checked_spec, self.spec), (checked_label, self.label)):
            try:
                if text is not None:
                    check(text)
            except ArgumentTypeError as error:
                raise InputError(str(error)) from error
        of_models = {"from": self.source_code, "to": self.target_code}
        given = [f"--rtt-bt-{name}" for name, value in of_models.items() if value is not None]
        given += [f"--rtt-{name}" for name in ("beams", "max-length") if getattr(self, name.replace("-", "_"))]
        if self.is_command and given:
            raise InputError(f"{given[0]} is for hf: back-translators; a cmd: has it in its command")
        if not self.is_command and self.batch_lines:
            raise InputError("--rtt-batch-lines is for cmd: back-translators; --ctx-batch-tokens is for models")
        if not self.is_command and self.timeout:
            raise InputError("--rtt-timeout is for cmd: back-translators, and this one is a model; leave it out")

    @property
    def is_command(self) -> bool:
        """Whether a command translates, and no model."""
        return self.spec.startswith("cmd:")

    @property
    def cache_folder(self) -> Path | None:
        """Where translations are kept, or None where they are not."""
        if self.cache == NO_CACHE:
            return None
        return Path(self.cache).expanduser() if self.cache else user_cache() / "roundtrip"

    @classmethod
    def from_args(cls, args: Namespace) -> "BackTranslation":
        """The settings that a command line with the flags --rtt-* gives; --rtt-bt must be among them."""
        return cls(
            args.rtt_bt,
            args.rtt_bt_name,
            args.rtt_bt_from,
            args.rtt_bt_to,
            args.rtt_beams,
            args.rtt_max_length,
            args.rtt_cache,
            args.rtt_batch_lines,
            args.rtt_timeout,
        )


def user_cache() -> Path:
    """The folder ctx-metrics in $XDG_CACHE_HOME, or in ~/.cache where that is not set to an absolute path."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "ctx-metrics"


def checked_spec(text: str) -> str:
    """A back-translator as it is named, for argparse.

    >>> checked_spec("hf:Helsinki-NLP/opus-mt-de-en")
    'hf:Helsinki-NLP/opus-mt-de-en'
    """
    kind, colon, rest = text.partition(":")
    if kind not in ("hf", "cmd") or not colon or not rest.strip():
        raise ArgumentTypeError(
            f"{text!r} is no back-translator: name hf:MODEL, such as hf:Helsinki-NLP/opus-mt-de-en, or cmd:'COMMAND'"
        )
    return text


def checked_label(text: str) -> str:
    """A name that can stand in a signature, for argparse.

    >>> checked_label("google-2026-01")
    'google-2026-01'
    """
    if not re.fullmatch(r"[\w.@+/-]+", text):
        raise ArgumentTypeError(f"{text!r} is no name of a back-translator: take letters, digits and . _ - + @ / alone")
    return text


def add_backtranslation_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the flags --rtt-* of the back-translation step to a group of an argparse parser."""
    group.add_argument(
        "--rtt-bt",
        type=checked_spec,
        metavar="hf:MODEL|cmd:COMMAND",
        help="The back-translator: a translation model of transformers (a folder, or a hub name[@revision]), or a command "
        "that reads lines on its standard input and writes as many.",
    )
    group.add_argument(
        "--rtt-bt-name",
        type=checked_label,
        metavar="NAME",
        help="A name for the back-translator, added to its identity, such as an online service's and when it was asked.",
    )
    group.add_argument(
        "--rtt-bt-from",
        metavar="CODE",
        help="The model's own code of the outputs' language, such as deu_Latn. (Default: found by -l)",
    )
    group.add_argument(
        "--rtt-bt-to", metavar="CODE", help="The model's own code of the source language. (Default: found by -l)"
    )
    group.add_argument(
        "--rtt-beams",
        type=positive,
        metavar="N",
        help="Beams of the model's search; 1 is greedy. (Default: the model's own)",
    )
    group.add_argument(
        "--rtt-max-length",
        type=positive,
        metavar="N",
        help="Most tokens of a translation. (Default: the model's own)",
    )
    group.add_argument(
        "--rtt-cache",
        metavar="FOLDER",
        help="Where translations are kept for the next run; none keeps nothing. (Default: ctx-metrics/roundtrip in the "
        "user's cache)",
    )
    group.add_argument(
        "--rtt-batch-lines",
        type=positive,
        metavar="N",
        help="Lines that a command gets each time it is started; more for one that takes long to start, 1 for one that "
        f"looks at neighbouring lines. (Default: {BATCH_LINES})",
    )
    group.add_argument(
        "--rtt-timeout",
        type=positive,
        metavar="SECONDS",
        help="What a command may take for these lines before it is ended. "
        f"(Default: {LINE_SECONDS} a line, {START_SECONDS} at least)",
    )


def add_roundtrip_arguments(group: argparse._ArgumentGroup) -> None:
    """The flags --roundtrip and --rtt-*: where the round trips of a run's systems come from."""
    group.add_argument(
        "--roundtrip",
        nargs="+",
        type=os.path.expanduser,
        default=None,
        metavar="FILE",
        help="Each system's output translated back into the source language, a file a system in the order of the systems.",
    )
    add_backtranslation_arguments(group)
