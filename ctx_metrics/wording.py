"""Names of settings in messages: the flag in a command, the keyword in Python."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_by_flags = False
_feature = ""


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
