"""Asks a judge: answers are kept on disk, and those that are missing are requested, several at a time."""

import random
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import NamedTuple

from tqdm import tqdm

from ..errors import CtxMetricsError, InputError, ModelError
from ..notices import Progress, counted, notice, say
from ..scale.kept import KeptResults, key_of
from ..wording import printable, setting_named, worded
from .answer import Judgement, UnreadableAnswer, read_answer
from .judging import Judging
from .prompt import RESPONSE_FORMATS, Messages
from .server import Reply, RequestFailure, Server

TRIES = 3  # answers that are requested for a sample until one can be read
SENDS = 8  # how often a request is sent that is not answered
IN_A_ROW = 3  # texts without an answer before the run stops, if no other is answered between them or none can be read
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds before a request is sent again; doubled each time
PATIENCE = 600.0  # longest wait, in seconds, that a server may ask for
CLAIM_WAIT = 0.1  # seconds until a look whether another run has got the answer
BYTES_PER_TOKEN = 4


class Fault(NamedTuple):
    """The fault in two wordings, one that follows a single segment and one that follows several."""

    one: str
    many: str


def past(words: str) -> Fault:
    """A fault told in the past tense, which is the same after several segments."""
    return Fault(words, words)


@dataclass
class Sample:
    """One of the answers about an example.

    tried        answers to it that were read so far
    judgement    the content of the answer; None until one could be read
    """

    messages: Messages
    number: int
    tried: int = 0
    judgement: Judgement | None = None
    faults: list[Fault] = field(default_factory=list)

    @property
    def texts(self) -> str:
        return self.messages[-1]["content"]

    @property
    def bytes(self) -> int:
        return sum(len(each["content"].encode("utf-8", "replace")) for each in self.messages)


class Stopped(Exception):
    """Ends a worker because another one has met an error."""


@dataclass
class Asking:
    """Gets the samples about some examples.

    replies    the models and the hosts that the answers are from
    """

    server: Server
    store: KeptResults
    label: str
    quiet: bool = False
    replies: set[tuple[str, str]] = field(default_factory=set)
    _failing: set[str] = field(default_factory=set)
    _unread: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _not_before: float = 0.0
    _error: BaseException | None = None

    @property
    def judging(self) -> Judging:
        return self.server.judging

    def samples(self, questions: Sequence[Messages], unit: str) -> list[list[Sample]]:
        """The samples about each question; one whose judgement is None got no answer that can be read."""
        found: list[list[Sample]] = []
        left: list[Sample] = []
        total = others = len(questions) * self.judging.samples
        for each in questions:
            found.append([])
            for number in range(self.judging.samples):
                sample, others = Sample(each, number), others - 1
                found[-1].append(sample)
                if not self._is_settled(sample):
                    left.append(sample)
                    self._check_number(len(left), others)
        segments = sum(any(self._is_open(sample) for sample in own) for own in found)
        if left or self.judging.dry_run:
            self._announce(left, segments, total, unit)
        if left:
            self._request(left, total)
        self._say_models()
        return found

    def _check_number(self, open_ones: int, others: int) -> None:
        """Raise InputError as soon as more samples are open than requests are allowed.

        others    samples that were not looked at yet
        """
        own, server = self.judging, self.server
        if own.dry_run or own.max_requests is None or server.sent + open_ones <= own.max_requests:
            return
        sent = f", and {server.sent:,} were sent" if server.sent else ""
        raise InputError(
            f"{self.label}: up to {counted(open_ones + others, 'request is', 'requests are')} needed{sent}, but at most "
            f"{own.max_requests:,} are allowed; nothing more was sent; raise {_most()}, or score less"
        )

    def _is_open(self, sample: Sample) -> bool:
        return sample.judgement is None and sample.tried < TRIES

    def _is_settled(self, sample: Sample) -> bool:
        """Whether kept answers settle a sample; reads them."""
        while self._is_open(sample):
            reply = self.store.get(self._key(sample), Reply, lambda _: True)
            if reply is None:
                return False
            self._take(sample, reply)
        return True

    def _key(self, sample: Sample) -> str:
        """The name of a sample's next answer, made from all that it depends on."""
        own = self.judging
        asked = own.model, sample.messages, own.temperature, own.max_tokens, RESPONSE_FORMATS[own.format]
        return key_of("judge", *asked, sample.number, sample.tried)

    def _take(self, sample: Sample, reply: Reply) -> UnreadableAnswer | None:
        """Read a sample's next answer; return its fault, if it has one."""
        sample.tried += 1
        wrong = None
        try:
            sample.judgement = read_answer(reply.text, reply.cut)
        except UnreadableAnswer as error:
            wrong = error
            sample.faults.append(past(f"got an answer {error}, which does not count"))
        with self.server.lock:
            self.replies.add((reply.model, reply.host))
            self.server.read += sample.judgement is not None
        return wrong

    def _announce(self, left: Sequence[Sample], segments: int, samples: int, unit: str) -> None:
        """Say which data are about to leave this machine; a run in blocks says so again when the requests have doubled."""
        own, server = self.judging, self.server
        tokens = sum(sample.bytes for sample in left) // BYTES_PER_TOKEN
        about = f"about {round(tokens, 2 - len(str(tokens))):,} tokens"
        many = f"{counted(segments, unit, f'{unit}s')}, {counted(len(left), 'request', 'requests')}, {about}"
        kept = f" ({counted(samples - len(left), 'answer is', 'answers are')} kept)" if samples > len(left) else ""
        if own.dry_run:
            where = f"{many} would go to {own.host}{kept}, and nothing was sent"
            if not left:
                where = f"nothing would go to {own.host}{kept}"
            flag = worded("--judge-dry-run", "dry_run")
            raise CtxMetricsError(f"{self.label}: dry run: {where}", fix=f"leave out {flag} to score")
        server.client  # noqa: B018  # raises if it is not installed, or the key is none
        server.planned += len(left)
        if server.planned >= 2 * server.announced:
            earlier = f", after {server.planned - len(left):,} before" if server.announced else ""
            server.announced = server.planned
            say(f"{self.label}: {many} go to {own.host}{kept}{earlier}")

    def _request(self, left: Sequence[Sample], samples: int) -> None:
        """Request the answers to the open samples.

        The first request goes alone, to see whether the server takes any. If it is refused, others follow one by one,
        because its text may be to blame.
        """
        ordered = sorted(left, key=lambda sample: sample.bytes)
        of_texts: dict[str, Sample] = {}
        for sample in ordered:
            of_texts.setdefault(sample.texts, sample)
        with Progress(self.label, "answer", samples, done=samples - len(left), quiet=self.quiet) as bar:
            try:
                for sample in islice(of_texts.values(), IN_A_ROW):
                    ordered.remove(sample)
                    self._at_once([sample], bar)
                    if self._takes_requests():
                        break
                self._at_once(ordered, bar)
            except KeyboardInterrupt as error:
                self._stop.set()
                kept = f"the answers so far are kept in {self.store.path}; the same command continues after them"
                raise KeyboardInterrupt(f"{self.label}: {kept}") from error

    def _at_once(self, samples: Sequence[Sample], bar: Progress) -> None:
        """Complete some samples, several at the same time; raise the first error after all requests under way."""
        waiting, finished = deque(samples), SimpleQueue[Sample]()
        number = min(self.judging.concurrency, len(samples))
        threads = [threading.Thread(target=self._work, args=(waiting, finished), daemon=True) for _ in range(number)]
        for thread in threads:
            thread.start()
        left = len(samples)
        while left and (any(thread.is_alive() for thread in threads) or not finished.empty()):
            try:
                finished.get(timeout=0.2)
            except Empty:
                continue
            left -= 1
            bar.update()
        if self._error is not None:
            raise self._error

    def _work(self, waiting: "deque[Sample]", finished: "SimpleQueue[Sample]") -> None:
        if hasattr(signal, "pthread_sigmask"):  # where SIGPIPE ends the command, a server that hangs up must not
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        while not self._stop.is_set():
            try:
                sample = waiting.popleft()
            except IndexError:
                return
            try:
                self._complete(sample)
            except Stopped:
                return
            except BaseException as error:  # it is raised in the main thread
                self._error = self._error or error
                self._stop.set()
                return
            finished.put(sample)

    def _complete(self, sample: Sample) -> None:
        """Request answers to a sample until one can be read, or the server gives none.

        Another run may be asking for the same answer; then this one waits for it.
        """
        while self._is_open(sample):
            key = self._key(sample)
            with self.store.claimed(key, self._wait_for_others):
                reply = self.store.get(key, Reply, lambda _: True)
                if reply is None:
                    reply = self._reply(sample)
                    if reply is None:
                        return
                    self.store.put(key, reply)
            wrong = self._take(sample, reply)
            if wrong and not self._is_open(sample):
                self._check_readable(sample, wrong)

    def _reply(self, sample: Sample) -> Reply | None:
        """The answer to one request, which is sent again while the server is busy or out of reach; None if there is none."""
        server = self.server
        sends, answered = 0, server.answered
        while True:
            self._pause()
            self._count()
            sends += 1
            try:
                reply = server.answer(sample.messages)
            except RequestFailure as failed:
                if failed.never:
                    raise ModelError(self._words(failed)) from None
                if failed.wait is not None and failed.wait > PATIENCE:
                    raise ModelError(f"{self._words(failed)}; it asks to wait {failed.wait:,.0f} seconds") from None
                if failed.busy and server.answered > answered:  # it works off the requests at its own pace
                    sends, answered = 1, server.answered
                if failed.again and sends < SENDS:
                    self._say_waiting(failed)
                    sample.faults.append(past(f"had a request that {failed.why} and was sent again"))
                    self._wait_after(failed, sends)
                    continue
                if failed.again or not self._takes_requests():
                    self._check_others(failed, sample)
                said = f" ({failed.fix})" if failed.fix else ""
                sample.faults.append(past(f"had a request that {failed.why} and was given up{said}"))
                return None
            with server.lock:
                server.answered += 1
                self._failing.clear()
            return reply

    def _takes_requests(self) -> bool:
        """Whether the server has answered, so that a refusal is due to the text."""
        return self.server.answered > 0 or len(self.replies) > 0

    def _check_others(self, failed: RequestFailure, sample: Sample) -> None:
        """Raise ModelError if no other text is answered either."""
        with self.server.lock:
            self._failing.add(sample.texts)
            stops = len(self._failing) == IN_A_ROW or (failed.lost and self.server.answered == 0)
        if stops:
            raise ModelError(self._words(failed) + (f", {SENDS} times; {self._continues()}" if failed.again else ""))

    def _check_readable(self, sample: Sample, wrong: UnreadableAnswer) -> None:
        """Raise ModelError if the server has answered about several texts and none of the answers can be read."""
        with self.server.lock:
            self._unread.add(sample.texts)
            stops = len(self._unread) >= IN_A_ROW and not self.server.read
        if stops:
            more = f"{setting_named('--judge-max-tokens', 'max_tokens')} allows longer answers"
            other = f"{setting_named('--judge-format', 'format')} has the server force JSON in other ways"
            raise ModelError(
                f"{self.label}: none of {self.judging.host}'s answers about the first {IN_A_ROW} texts can be read; "
                f"the last was one {wrong} ({more if wrong.cut else other}); the answers are kept in {self.store.path}"
            )

    def _say_waiting(self, failed: RequestFailure) -> None:
        """Say why nothing comes from a server that has answered nothing yet: it may take minutes until the run stops."""
        with self.server.lock:
            says = not (self.server.answered or self.server.awaited or self.quiet)
            self.server.awaited = True
        if says and sys.stderr:
            tqdm.write(
                printable(f"ctx-metrics: {self._words(failed)}; it is sent up to {SENDS} times"), file=sys.stderr
            )

    def _wait_after(self, failed: RequestFailure, sends: int) -> None:
        """Wait before a request is sent again: all workers if the server says how long, else this one."""
        longest = min(FIRST_WAIT * 2 ** (sends - 1), LONGEST_WAIT)
        with self.server.lock:
            if failed.wait is not None:
                self._not_before = max(self._not_before, time.monotonic() + failed.wait)
        if failed.wait is None and self._stop.wait(longest * random.uniform(0.75, 1.0)):
            raise Stopped

    def _wait_for_others(self) -> None:
        if self._stop.wait(CLAIM_WAIT):
            raise Stopped

    def _pause(self) -> None:
        """Wait until the server takes requests again."""
        while not self._stop.is_set():
            left = self._not_before - time.monotonic()
            if left <= 0:
                return
            self._stop.wait(left)
        raise Stopped

    def _count(self) -> None:
        server, most = self.server, self.judging.max_requests
        with server.lock:
            if most is not None and server.sent >= most:
                raise InputError(
                    f"{self.label}: {most:,} requests were sent, which is all that {_most()} allows, since some had to be "
                    f"sent again; {self._continues()}"
                )
            server.sent += 1

    def _words(self, failed: RequestFailure) -> str:
        return f"{self.label}: a request to {self.judging.host} {failed.why}{f': {failed.fix}' if failed.fix else ''}"

    def _continues(self) -> str:
        return f"the answers so far are kept in {self.store.path}, and the same command continues after them"

    def _say_models(self) -> None:
        """Give notice of answers that are not all from one model on this server."""
        if len(self.replies) > 1 or any(host != self.judging.host for _, host in self.replies):
            places = ", ".join(f"{model or self.judging.model} on {host}" for model, host in sorted(self.replies))
            notice(f"the answers are those of {places}", metric=self.label)


def _most() -> str:
    return worded("--judge-max-requests", "max_requests")
