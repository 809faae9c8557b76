"""The record next to a file of chosen texts: by which metrics they were chosen."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ..notices import notice
from ..opening import file_sha256
from ..plugin import RECORD
from ..scale.folders import Unusable, read_file
from ..scale.kept import Line, plain_json
from ..writing import write_bytes
from .related import Measure

MOST = 2**20  # most bytes of a record
T = TypeVar("T")


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A choice among candidates or rows.

    command      the subcommand that made it, such as mbr
    metric       the name of the metric by whose scores it chose
    signature    the metric's
    """

    command: Line
    metric: Line
    signature: Line

    @property
    def measure(self) -> Measure:
        return Measure.of_signature(self.metric, self.signature)

    def __str__(self) -> str:
        return f"chosen by {self.command} with {self.measure}"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The record next to a file: the hash of its content, and the choices that led to it, the first one first."""

    sha256: Line
    chosen_by: list[Choice]


def write_record(path: str, choices: Sequence[Choice]) -> None:
    """Write the record of a file that has been written."""
    record = Record(file_sha256(Path(path)), list(dict.fromkeys(choices)))
    write_bytes(path + RECORD, plain_json(record) + b"\n")


def choices_of(paths: Iterable[str]) -> list[Choice]:
    """Return the choices that led to the content of files, as far as records next to them say.

    Gives notice of a record that cannot be used, or whose file has other content now.
    """
    return [choice for path in paths for choice in _choices(path)]


def _choices(path: str) -> list[Choice]:
    record = decoded(path + RECORD, Record, MOST)
    if record is None or file_sha256(Path(path)) == record.sha256:
        return [] if record is None else record.chosen_by
    notice(
        f"{path}{RECORD} belongs to another text than {path} holds now, so it is not used; if this text was made from that "
        "one, name the metric with --tuned-with (sacrebleu: --ctx-tuned-with), else remove the record"
    )
    return []


def decoded(path: str, kind: type[T], most: int) -> T | None:
    """Return the content of a JSON file of at most `most` bytes; None, with a notice, if it is not usable, or without one if
    there is no such file."""
    try:
        content = read_file(path, most)
        return None if content is None else msgspec.json.decode(content, type=kind)
    except Unusable as error:
        why = error.why
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        why = "holds no record of what was chosen"
    notice(f"{path} is ignored, because it {why}")
    return None
