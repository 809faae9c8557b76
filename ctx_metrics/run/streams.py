"""The streams of a run: lines of files and of sacrebleu's test sets, and what their systems are called."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from unicodedata import category

from ..corpus import read_lines
from ..errors import InputError
from ..notices import counted

# endings that say what a file is, not whose output it holds
_ENDINGS = (".txt", ".text", ".out", ".hyp", ".tok", ".detok")
_PACKED = (".gz", ".xz")
_CONTROLS = ("Cc", "Zl", "Zp")  # Unicode's categories of control characters, line and paragraph separators


class Segments(list):
    """A stream of segments. `name` is its file, or what else messages call it; where sacrebleu picked some of a test set
    (--origlang, --subset, --detail), `indices` are their places in the whole."""

    indices: list[int] | None = None
    name: str = ""


def named(lines: Sequence[str | None], name: str) -> Segments:
    """The lines as segments of this name."""
    segments = Segments(lines)
    segments.name = name
    return segments


def file_segments(path: str, encoding: str | None = None) -> Segments:
    """The lines of a text file, which know its name; raises InputError as read_lines does."""
    return named(read_lines(path, encoding), path)


def check_lengths(streams: Sequence[Segments]) -> None:
    """Raise InputError for a stream that is empty or not as long as the first one, naming both."""
    first = streams[0]
    for stream in streams:
        if not stream:
            raise InputError(f"{stream.name} is empty; it must hold one segment per line")
    for stream in streams:
        if len(stream) != len(first):
            lines = counted(len(stream), "line", "lines")
            raise InputError(f"{stream.name} has {lines}, but {first.name} has {len(first)}")


def system_names(paths: Sequence[str]) -> list[str]:
    """The systems' names, from their files: the file's name without a last .txt, .out, .hyp or the like (and .gz, .xz).

    Where two are alike, as many folders go before them as tell them apart. White space and bytes that are no text become
    `_`, so that a name is one word in every output. /dev/fd/63, which a shell makes of <(command), is kept as it is.
    Raises InputError for a file that is given twice.

    >>> system_names(["out/a.txt", "out/b.txt.gz"]), system_names(["de/big/a.txt", "de/small/a.txt", "b v1.2"])
    (['a', 'b'], ['big/a', 'small/a', 'b_v1.2'])
    """
    whole = [Path(path).absolute() for path in paths]
    for k, path in enumerate(whole):
        if path in whole[:k]:
            raise InputError(f"{paths[k]} is given twice; name each system once")
    bare = [path if path.is_relative_to("/dev") else path.with_name(_without_ending(path.name)) for path in whole]
    if len(set(bare)) < len(bare):  # a.txt and a.out
        bare = whole
    names = []
    for path in bare:
        for parts in range(len(path.parts) if path.is_relative_to("/dev") else 1, len(path.parts) + 1):
            name = path.parts[-parts:]
            if sum(other.parts[-parts:] == name for other in bare) == 1:
                break
        names.append(re.sub(r"[\s\ud800-\udfff]", "_", str(Path(*name))))
    if len(set(names)) < len(names):
        return [f"{name}:{number}" for number, name in enumerate(names, 1)]
    return names


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """The names as they are where all have at most `longest` letters; else without the parts, up to a point or slash, that
    all of them start or end with.

    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 18)
    ['online-A', 'online-B']
    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 30)[0]
    'newstest2019.online-A.gu-en'
    """
    if max(map(len, names)) <= longest or len(set(names)) < len(names):
        return list(names)
    for _ in range(2):  # what they start with, then, turned round, what they end with
        common = os.path.commonprefix(list(names))  # noqa: RUF071
        start = max(common.rfind("."), common.rfind("/")) + 1
        names = [name[start:][::-1] for name in names]
    return list(names)


def names_fault(names: Sequence[str], systems: int) -> str:
    """What is wrong with the names of --names for so many systems, in words; "" if nothing is.

    >>> names_fault(["A", "A"], 2), names_fault(["A", "B"], 2)
    ("--names names two systems 'A'", '')
    """
    if len(names) != systems:
        return f"--names has {counted(len(names), 'name', 'names')} for {counted(systems, 'system', 'systems')}"
    if faults := list(filter(None, map(name_fault, names))):
        return f"--names has {faults[0]}"
    bare = [name.strip() for name in names]
    if twice := [name for name in bare if bare.count(name) > 1]:
        return f"--names names two systems {twice[0]!r}"
    return ""


def name_fault(name: str) -> str:
    """Why a name cannot stand in a table, in words; "" if it can.

    >>> name_fault("A"), name_fault(" "), name_fault("A\\n")
    ('', 'an empty name', 'a name with a tab, a line end or another control character')
    """
    if not name.strip():
        return "an empty name"
    if any(category(letter) in _CONTROLS for letter in name):
        return "a name with a tab, a line end or another control character"
    return ""


def _without_ending(name: str) -> str:
    for endings in (_PACKED, _ENDINGS):
        for ending in endings:
            if name.endswith(ending) and name != ending:
                name = name.removesuffix(ending)
                break
    return name


def reference_name(paths: Sequence[str]) -> str:
    """What stands for the references in the name of a score file of mt-metrics-eval: the files' names, else ref.

    mt-metrics-eval cuts the name at its last '-' and at dots, and puts the language pair before a reference's name.

    >>> reference_name(["wmt/zh-en.refA.txt", "my-ref.txt"]), reference_name([])
    ('refA.my_ref', 'ref')
    """
    stems = [Path(Path(path).name.removesuffix(".gz")).stem for path in paths]
    names = [re.sub(r"^[a-z]{2,3}-[a-z]{2,3}\.", "", stem) for stem in stems]
    return ".".join(re.sub(r"[-.\s]", "_", name) for name in names) or "ref"


def test_set_lines(test_sets: str, langpair: str, field: str) -> list[str] | None:
    """A field (src, docid) of one or several of sacrebleu's test sets, or None where one of them does not have it.

    Document ids of several test sets are prefixed with the set's name, so that they stay distinct.
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
