"""A server with OpenAI's chat interface: one request, its answer or its failure. The key stays in this module."""

import json
import os
import threading
import time
import zlib
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import InputError, ModelError
from ..notices import notice
from ..opening import reason
from ..wording import setting_named, worded
from .judging import KEY_ENV, SMALLEST_KEY, Judging
from .prompt import RESPONSE_FORMATS, Messages

EXTRA = "pip install 'ctx-metrics[judge]'"
NO_KEY = "none"  # sent where there is no key, because the client demands one
MOST_BYTES = 8 * 2**20  # of an answer, also once it is unpacked; kept answers may be longer
SHOWN = 200  # most characters of a server's message
REFUSES_ALL = {401, 402, 403, 404, 405}  # whatever is asked
LATER = {408, 409, 425, 429}  # besides those from 500
# parameters that servers may not know, and the settings that they come from
UNSUPPORTED = {
    "response_format": ("--judge-format", "format"),
    "json_schema": ("--judge-format", "format"),
    "max_tokens": ("--judge-max-tokens", "max_tokens"),
    "temperature": ("--judge-temperature", "temperature"),
}


class Reply(NamedTuple):
    """A server's answer, as it is kept.

    cut      whether it ends because of the most tokens
    host     of the server
    model    as the server calls it
    """

    text: str
    cut: bool
    host: str
    model: str


class RequestFailure(Exception):
    """A request without an answer.

    why      the reason, in words that follow "request"
    fix      what to do about it, or ""
    again    whether to send it again
    busy     whether the server gets too many requests
    never    whether the server refuses any request
    lost     whether there is no server
    wait     seconds that the server asks to wait, or None
    """

    def __init__(
        self,
        why: str,
        *,
        fix: str = "",
        again: bool = False,
        busy: bool = False,
        never: bool = False,
        lost: bool = False,
        wait: float | None = None,
    ):
        super().__init__(why)
        self.why, self.fix, self.again, self.busy = why, fix, again, busy
        self.never, self.lost, self.wait = never, lost, wait


class _Unfit(Exception):
    """Says what is wrong with the body of an answer, in words that follow "got"."""


def _bounded(response: Any) -> None:
    """Have a response raise _Unfit when its body has more than MOST_BYTES, and unpack it here, a piece at a time."""
    library: Any = import_module(
        type(response).__module__.partition(".")[0]
    )  # httpx, or what the client has in its place
    stream, packing = response.stream, response.headers.pop("content-encoding", "identity").strip().lower()

    class Bounded(library.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS) if packing in ("gzip", "x-gzip") else None
            if unpacking is None and packing != "identity":
                raise _Unfit(f"an answer packed as {packing[:20]!r}, which was not asked for")
            left = MOST_BYTES
            for piece in stream:
                try:
                    found = unpacking.decompress(piece, left + 1) if unpacking else piece
                except zlib.error:
                    raise _Unfit("a damaged gzip answer") from None
                left -= len(found)
                if left < 0:
                    raise _Unfit(f"an answer of more than {MOST_BYTES // 2**20} MiB")
                yield found

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()


class Server:
    """A judge's server. It counts over the whole process, so that a cap holds for all blocks of a run.

    sent, answered    numbers of requests, and of those that were answered
    read              number of answers that could be read, also of those that were kept
    awaited           whether the user knows that nothing is answered yet
    """

    def __init__(self, judging: Judging):
        self.judging, self.lock = judging, threading.Lock()
        self.sent = self.answered = self.read = self.planned = self.announced = 0
        self.awaited = False
        self._given = os.environ.get(judging.key_env)

    def is_current(self) -> bool:
        return self._given == os.environ.get(self.judging.key_env)

    @cached_property
    def client(self) -> Any:
        """OpenAI's client, which neither repeats a request nor follows the server to another address."""
        try:
            import openai
        except ImportError as error:
            raise ModelError(f"judge: the package openai is needed to ask a server: {EXTRA}") from error
        key = self._key()
        timeout = self.judging.timeout
        proxies = self.judging.is_open or self.judging.url.startswith("https")  # none is between a machine and itself
        http = openai.DefaultHttpxClient(
            follow_redirects=False,
            timeout=timeout,
            trust_env=proxies,
            headers={"Accept-Encoding": "gzip"},
            event_hooks={"response": [_bounded]},
        )
        return openai.OpenAI(api_key=key, base_url=self.judging.url, timeout=timeout, max_retries=0, http_client=http)

    def _key(self) -> str:
        name, key = self.judging.key_env, (self._given or "").strip()
        if not key and name != KEY_ENV:
            flag = worded("--judge-key-env", "key_env")
            shown = name if name.isupper() else f"that {flag} names"  # the key itself may be given there
            raise InputError(f"judge: the environment variable {shown} is not set", fix="set it to the server's key")
        if not key:
            return NO_KEY
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise InputError(f"judge: the environment variable {name} holds no key: it has characters that no key has")
        if self.judging.is_open:
            notice(
                f"the key in {name} and the texts go to {self.judging.host} unencrypted (http); use https, or name another "
                f"variable with {setting_named('--judge-key-env', 'key_env')}",
                metric="judge",
            )
        return key

    def answer(self, messages: Messages) -> Reply:
        """Send one request and return its answer; raise RequestFailure."""
        create = self.client.chat.completions.with_raw_response.create
        import openai

        own = self.judging
        more: dict[str, Any] = {"response_format": RESPONSE_FORMATS[own.format], "max_tokens": own.max_tokens}
        more = {name: value for name, value in more.items() if value is not None}
        try:
            raw = create(model=own.model, messages=messages, temperature=own.temperature, **more)
            return self._reply(raw.http_response.text)
        except _Unfit as error:
            raise RequestFailure(f"got {error}", again=True) from None
        except openai.APITimeoutError:
            raise RequestFailure("timed out", again=True) from None
        except openai.APIStatusError as error:
            raise self._refusal(error) from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, _Unfit):  # in other versions of the client
                raise RequestFailure(f"got {error.__cause__}", again=True) from None
            cause = self.clean(reason(error.__cause__ or error))
            raise RequestFailure("found no server, or lost it", fix=cause, again=True, lost=True) from None

    def _reply(self, body: str) -> Reply:
        """Read the body of an answer; servers may leave out any part of it."""
        strange = "got something other than a chat completion"
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            first = self.answered == 0
            raise RequestFailure(
                strange, fix="does the URL lack /v1?" if first else "", again=True, never=first
            ) from None
        try:
            choice = found["choices"][0]
            text, cut = choice["message"].get("content"), choice.get("finish_reason") == "length"
            model = found.get("model")
        except (LookupError, TypeError, AttributeError):
            raise RequestFailure(strange, fix=self.clean(_message(found)), again=True) from None
        if isinstance(text, list):  # of parts
            text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
        text = text if isinstance(text, str) else ""
        served = self.clean(model) if isinstance(model, str) else ""
        return Reply(self.without_key(text), cut, self.judging.host, served)

    def _refusal(self, error: Any) -> RequestFailure:
        status = error.status_code
        said = self.clean(_message(error.body))
        code = error.body.get("code") if isinstance(error.body, dict) else None
        broke = code == "insufficient_quota"
        again = (status in LATER or status >= 500) and not broke
        fix = said
        if status in (401, 403):
            name = self.judging.key_env
            other = setting_named("--judge-key-env", "key_env")
            is_set = "the key is in" if self._given else "no key was sent, because it is not in"
            fix = f"{said or 'it wants a key'} ({is_set} the environment variable {name}; {other} names another)"
        elif status == 404:
            fix = f"{said or 'nothing is there'} (does the URL lack /v1, or has the model another name?)"
        elif not again and (flag := next((flag for word, flag in UNSUPPORTED.items() if word in said), None)):
            fix = f"{said} (change {setting_named(*flag)})"
        never = status in REFUSES_ALL or 300 <= status < 400 or broke
        wait = _wait(error.response.headers)
        return RequestFailure(f"got status {status}", fix=fix, again=again, busy=status == 429, never=never, wait=wait)

    def clean(self, text: str) -> str:
        """A server's words for a terminal: one short line, without control characters and without the key."""
        line = "".join(character if character.isprintable() else " " for character in self.without_key(text))
        return " ".join(line.split())[:SHOWN]

    def without_key(self, text: str) -> str:
        key = (self._given or "").strip()
        return text.replace(key, "***") if len(key) >= SMALLEST_KEY else text


def _message(body: Any) -> str:
    """The message in the body of an error, of which servers have several forms."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        found = inner.get("message", inner.get("detail", "")) if isinstance(inner, dict) else inner
        return found if isinstance(found, str) else json.dumps(found)
    return body if isinstance(body, str) else ""


def _wait(headers: Any) -> float | None:
    """The seconds of Retry-After, which is a number or a date; None without one.

    >>> _wait({"retry-after": "2"}), _wait({"retry-after": "soon"}), _wait({})
    (2.0, None, None)
    """
    text = headers.get("retry-after")
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        try:
            found = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(found, 0.0) if found == found else None
