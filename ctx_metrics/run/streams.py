"""The streams of a run, which are lines of files and of sacrebleu's test sets."""

from collections.abc import Sequence

from ..corpus import Segments, named
from ..errors import InputError
from ..notices import counted
from ..reading import read_lines, read_text, split_lines, without_mark
from ..subtitles import without_times
from ..wording import worded


def file_segments(path: str, encoding: str | None = None, subtitles: bool = False) -> Segments:
    """Return the lines of a file; with `subtitles`, those of a file of subtitles are their texts."""
    if subtitles:
        text = without_times(without_mark(read_text(path, encoding), path), path)
        return named(split_lines(text, path), path)
    return named(read_lines(path, encoding), path)


def check_lengths(streams: Sequence[Segments]) -> None:
    """Raise InputError for a stream without segments, and unless all streams have the same number."""
    for stream in sorted(streams, key=bool):
        first = streams[0]
        own, others = (counted(len(each), "segment", "segments") for each in (stream, first))
        in_python = f"{stream.name}: {own} for {others} of {first.name}"
        if not stream:
            raise InputError(worded(f"{stream.name} is empty; it must hold one segment per line", in_python))
        if len(stream) != len(first):
            lines = counted(len(stream), "line", "lines")
            raise InputError(worded(f"{stream.name} has {lines}, but {first.name} has {len(first)}", in_python))


def test_set_lines(test_sets: str, langpair: str, field: str) -> list[str] | None:
    """Return a field (src, docid) of one or more of sacrebleu's test sets, or None if any of them does not have it.

    With several test sets, document ids are prefixed with the set's name, so that they stay distinct.
    """
    from sacrebleu.dataset import DATASETS

    lines: list[str] = []
    names = test_sets.split(",")
    for name in names:
        fields = DATASETS[name].fieldnames(langpair)
        if field not in fields:
            return None
        of_set = read_lines(DATASETS[name].get_files(langpair)[fields.index(field)])
        lines += [f"{name}/{line}" for line in of_set] if field == "docid" and len(names) > 1 else of_set
    return lines
