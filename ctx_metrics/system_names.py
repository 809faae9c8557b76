"""The names of a run's systems: from their files, and those that a user gives."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from unicodedata import category

from .errors import InputError
from .notices import counted
from .reading import PACKED

# endings that describe the file, not the system whose output it holds
_ENDINGS = (".txt", ".text", ".out", ".hyp", ".tok", ".detok", ".jsonl")
_CONTROLS = ("Cc", "Zl", "Zp")  # Unicode's categories of control characters, line and paragraph separators


def system_names(paths: Sequence[str]) -> list[str]:
    """Return the systems' names: each file's name without a final .txt, .out, .hyp or the like (and .gz, .xz).

    If two names are equal, they are prefixed with as many folders as needed to distinguish them. White space and bytes
    that are not valid text become `_`, so that a name is one word in every output. A name such as /dev/fd/63, which a shell
    substitutes for <(command), is kept as it is.

    >>> system_names(["out/a.txt", "out/b.txt.gz"]), system_names(["de/big/a.txt", "de/small/a.txt", "b v1.2"])
    (['a', 'b'], ['big/a', 'small/a', 'b_v1.2'])
    """
    whole = [Path(path).absolute() for path in paths]
    for k, path in enumerate(whole):
        if path in whole[:k]:
            raise InputError(f"{paths[k]} is given twice", fix="name each system once")
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
    """Return the names unchanged if none has more than `longest` characters; otherwise without the parts that all of them
    start or end with, cut at a dot or slash.

    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 18)
    ['online-A', 'online-B']
    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 30)[0]
    'newstest2019.online-A.gu-en'
    """
    if max(map(len, names)) <= longest or len(set(names)) < len(names):
        return list(names)
    for _ in range(2):  # first the common start; then, with the names reversed, the common end
        common = os.path.commonprefix(list(names))  # noqa: RUF071
        start = max(common.rfind("."), common.rfind("/")) + 1
        names = [name[start:][::-1] for name in names]
    return list(names)


def names_fault(names: Sequence[str], systems: int, flag: str = "--names") -> str:
    """Say what is wrong with the names that a flag gives for some number of systems; "" if nothing is.

    >>> names_fault(["A", "A"], 2), names_fault(["A", "B"], 2)
    ("--names names two systems 'A'", '')
    """
    if len(names) != systems:
        return f"{flag} has {counted(len(names), 'name', 'names')} for {counted(systems, 'system', 'systems')}"
    if faults := list(filter(None, map(name_fault, names))):
        return f"{flag} has {faults[0]}"
    bare = [name.strip() for name in names]
    if twice := [name for name in bare if bare.count(name) > 1]:
        return f"{flag} names two systems {twice[0]!r}"
    return ""


def name_fault(name: str) -> str:
    """Say why a name cannot be used in a table; "" if it can.

    >>> name_fault("A"), name_fault(" "), name_fault("A\\n")
    ('', 'an empty name', 'a name with a tab, a line end or another control character')
    """
    if not name.strip():
        return "an empty name"
    if any(category(letter) in _CONTROLS for letter in name):
        return "a name with a tab, a line end or another control character"
    return ""


def _without_ending(name: str) -> str:
    for endings in (PACKED, _ENDINGS):
        for ending in endings:
            if name.endswith(ending) and name != ending:
                name = name.removesuffix(ending)
                break
    return name


def reference_name(paths: Sequence[str]) -> str:
    """Return the name of the references for an mt-metrics-eval score file: from the files' names, or "ref" without files.

    mt-metrics-eval splits a score file's name at its last '-' and at dots, and prefixes reference files with the language
    pair.

    >>> reference_name(["wmt/zh-en.refA.txt", "my-ref.txt"]), reference_name([])
    ('refA.my_ref', 'ref')
    """
    stems = [Path(Path(path).name.removesuffix(".gz")).stem for path in paths]
    names = [re.sub(r"^[a-z]{2,3}-[a-z]{2,3}\.", "", stem) for stem in stems]
    return ".".join(re.sub(r"[-.\s]", "_", name) for name in names) or "ref"
