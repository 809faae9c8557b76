"""The server that judges, and its settings: from a metric's settings, or from a name such as http://localhost:8000/v1?samples=6#qwen3."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from os.path import expanduser
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from ..errors import InputError
from ..flag_types import amount, few, number
from ..settings import closest

KEY_ENV = "OPENAI_API_KEY"
FORMATS = ("schema", "object-schema", "object", "text")
EXAMPLE = "http://localhost:8000/v1"
SMALLEST_KEY = 8  # characters; a shorter one is a placeholder that any text may hold

MOST_SAMPLES = 1000
many = partial(number, int, lambda value: 1 <= value <= MOST_SAMPLES, f"a whole number from 1 to {MOST_SAMPLES:,}")
degrees = partial(number, float, lambda value: value >= 0, "a number of at least 0")
seconds = partial(number, float, lambda value: value > 0, "a number of seconds above 0")
# settings that may follow the "?" of a name, and their types
IN_NAME: dict[str, Callable[[str], Any]] = {
    "samples": many,
    "temperature": degrees,
    "max_tokens": amount,
    "format": str,
    "key_env": str,
    "concurrency": few,
    "max_requests": amount,
    "timeout": seconds,
    "store": expanduser,
}


@dataclass(frozen=True)
class Judging:
    """A judge: a model on a server, how it is asked, and where its answers are kept.

    url             where /chat/completions is added
    samples         answers for each segment
    max_tokens      most tokens of an answer; None: the server decides
    format          how the server is told to answer: by a JSON schema, by one in the form of llama-cpp-python, with any JSON
                    object, or not at all
    key_env         environment variable that holds the key
    concurrency     most requests at the same time
    max_requests    most requests of a process, also those that are sent again; None: any number
    timeout         seconds without a sign of the server
    store           folder of the answers; "": in the user's cache
    """

    url: str
    model: str
    samples: int = 3
    temperature: float = 1.0
    max_tokens: int | None = None
    format: str = "schema"
    key_env: str = KEY_ENV
    concurrency: int = 8
    max_requests: int | None = None
    timeout: float = 300.0
    store: str = ""
    dry_run: bool = False

    def __post_init__(self):
        split = _split(self.url)
        if split.query or split.fragment:
            raise InputError(
                f"judge: the server's URL ends before ? and #: {split.scheme}://{split.netloc}{split.path}"
            )
        if self.format not in FORMATS:
            raise InputError(f"judge: format {self.format!r} is not one of {', '.join(FORMATS)}")

    @property
    def host(self) -> str:
        return _split(self.url).netloc

    @property
    def is_open(self) -> bool:
        """Whether others can read the requests on their way."""
        split = _split(self.url)
        name = split.hostname or ""
        return split.scheme == "http" and name not in ("localhost", "127.0.0.1", "::1")


def is_name(text: str) -> bool:
    """Whether a model's name names a judge with its server. A page of the hub is none: it names a model to load.

    >>> is_name("http://localhost:8000/v1#qwen3"), is_name("Unbabel/wmt22-comet-da")
    (True, False)
    """
    return re.match(r"https?://(?!(?:www\.)?huggingface\.co/)", text) is not None


def named(name: str) -> dict[str, Any]:
    """The fields of Judging that a name holds: URL#MODEL, or URL?samples=6&temperature=0#MODEL.

    >>> named("http://localhost:8000/v1?samples=6#qwen3")
    {'url': 'http://localhost:8000/v1', 'model': 'qwen3', 'samples': 6}
    """
    split = _split(name)
    url = f"{split.scheme}://{split.netloc}{split.path}"
    if not split.fragment:
        raise InputError(f"judge: {url} names no model", fix=f"write {url}#MODEL")
    found: dict[str, Any] = {"url": url, "model": unquote(split.fragment)}
    for key, text in parse_qsl(split.query, keep_blank_values=True):
        field = key.replace("-", "_")
        if field not in IN_NAME:
            known = ", ".join(IN_NAME).replace("_", "-")
            raise InputError(f"judge: {url} cannot set {key!r}{closest(field, IN_NAME)}; it can set {known}")
        try:
            found[field] = IN_NAME[field](text)
        except ArgumentTypeError as error:
            raise InputError(f"judge: {url}: {key}: {error}") from error
    return found


def judging_of(settings: Mapping[str, Any]) -> Judging:
    """The judge of a metric's settings, of which None means not given; those in a model's name come second."""
    own = {each.name for each in fields(Judging)}
    given = {key: value for key, value in settings.items() if key in own and value is not None and value is not False}
    if is_name(str(given.get("model", ""))):
        if "url" in given:
            raise InputError(
                "judge: the model's name holds a URL, and another one is given", fix="leave out one of them"
            )
        return Judging(**{**given, **named(given["model"]), **{k: v for k, v in given.items() if k != "model"}})
    return Judging(**given)


def _split(url: str) -> SplitResult:
    """The parts of a URL, which must hold no name and no password, because they would be shown and kept."""
    try:
        split = urlsplit(url)
        split.port  # noqa: B018  # raises
    except ValueError as error:
        raise InputError("judge: the server's URL cannot be read", fix=f"give one such as {EXAMPLE}") from error
    if "@" in split.netloc:
        raise InputError(
            "judge: a URL with a name and a password would be shown", fix="give the key in an environment variable"
        )
    if split.scheme not in ("http", "https") or not split.hostname or not url.isprintable() or " " in url:
        shown = url.partition("?")[0]  # a query may hold a key
        raise InputError(f"judge: {shown!r} is not a server's URL", fix=f"give one such as {EXAMPLE}")
    return split
