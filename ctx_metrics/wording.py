"""Words of messages: names of settings (the flag in a command, the keyword in Python), and text that a terminal can show."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Characters that a terminal obeys: controls (C0, C1) and line separators, and those that reorder text (bidirectional).
CONTROLS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_OBEYED = re.compile(f"(?![\t\n])[{CONTROLS}]")
_by_flags = False
_feature = ""


def printable(text: str) -> str:
    """Return a text for a terminal: all control characters but tabs and line feeds are escaped, so that names and texts
    from files cannot move the cursor, set colours or turn the text around.

    >>> print(printable("a\\x1b[2Jb\\u202ec"))
    a\\x1b[2Jb\\u202ec
    """
    return _OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


@contextmanager
def by_flags(feature: str = "") -> Iterator[None]:
    """Context in which messages name flags; active while a command runs.

    feature    the metric, in lower case, whose settings are named as those of a feature of pairwise
    """
    global _by_flags, _feature
    before = _by_flags, _feature
    _by_flags, _feature = True, feature
    try:
        yield
    finally:
        _by_flags, _feature = before


def setting_named(flag: str, keyword: str, value: str | float = "") -> str:
    """Return the name of a setting, with its value if one is given.

    >>> setting_named("--comet-model", "model"), setting_named("--comet-inputs", "inputs", "mt+src")
    ('model=...', "inputs='mt+src'")
    >>> with by_flags():
    ...     setting_named("--comet-inputs", "inputs", "mt+src")
    '--comet-inputs mt+src'
    >>> with by_flags(feature="bertr"):
    ...     setting_named("--bertr-model", "model")
    '--features bertr:model=...'
    """
    if _feature and flag.startswith(prefix := f"--{_feature}-"):
        return f"--features {_feature}:{flag.removeprefix(prefix)}={value or '...'}"
    if value == "":
        return worded(flag, f"{keyword}=...")
    return worded(f"{flag} {value if isinstance(value, str) else f'{value:g}'}", f"{keyword}={value!r}")


def worded(flag: str, keyword: str) -> str:
    """Return the flag in a command, and the keyword in Python.

    >>> worded("--docids FILE", "doc_ids")
    'doc_ids'
    >>> with by_flags():
    ...     worded("--docids FILE", "doc_ids")
    '--docids FILE'
    """
    return flag if _by_flags else keyword


def any_of(flags: Sequence[str]) -> str:
    """Return flags joined by commas and "or".

    >>> any_of(["--docids", "--source", "--roundtrip"])
    '--docids, --source or --roundtrip'
    """
    *others, last = flags
    return f"{', '.join(others)} or {last}"


def name_the_language() -> str:
    return worded("name the language pair with -l", "name the language with target_lang (round trips: source_lang)")


def metric_with_model(metric: str, model: str) -> str:
    """Return the words for a metric, given by its name in lower case, with a model.

    >>> metric_with_model("pairwise", "my-model")
    "the metric pairwise with model='my-model'"
    """
    return worded(f"-m {metric} --{metric}-model {model}", f"the metric {metric} with model={model!r}")
