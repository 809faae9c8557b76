"""A server with OpenAI's chat interface for the tests of `judge`: it answers by rule, counts what it gets, and fails when told."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def data_of(request: dict[str, Any]) -> dict[str, str]:
    """The texts of a request."""
    return json.loads(request["messages"][1]["content"])


def score_of(request: dict[str, Any]) -> int:
    """A judgement that depends on the texts alone: the share of the translation's words that the other texts hold."""
    data = data_of(request)
    others = {word for name in ("reference", "source") for word in data.get(name, "").lower().split()}
    words = data["translation"].lower().split()
    return round(100 * sum(word in others for word in words) / max(len(words), 1))


def judgement(score: Any, *errors: tuple[str, str]) -> str:
    return json.dumps({"errors": [{"text": text, "severity": severity} for text, severity in errors], "score": score})


@dataclass
class Fault:
    """An answer that is no completion.

    status, headers, body    of the answer; a body of bytes is sent as it is
    promised                 bytes that the header promises beyond those that are sent
    seconds                  to wait before it
    """

    status: int = 200
    body: bytes | str | dict[str, Any] = ""
    headers: dict[str, str] = field(default_factory=dict)
    promised: int = 0
    seconds: float = 0.0


Answer = str | Fault


@dataclass
class JudgeServer:
    """What a server got, and how it answers.

    answer      returns an answer to (number of the request from 1, request)
    requests    those that it got, in order
    keys        what they brought as Authorization
    most        the largest number of requests at the same time
    """

    url: str
    answer: Callable[[int, dict[str, Any]], Answer] = lambda _, request: judgement(score_of(request))
    seconds: float = 0.0
    finish: str = "stop"
    model: str | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    lock: Any = field(default_factory=threading.Lock)

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def reply(self, request: dict[str, Any]) -> Fault:
        with self.lock:
            self.requests.append(request)
            number = len(self.requests)
        given = self.answer(number, request)
        if isinstance(given, Fault):
            return given
        return Fault(body=completion(given, self.finish, self.model or request["model"]), seconds=self.seconds)


def completion(text: str | None, finish: str = "stop", model: str = "toy") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "1", "model": model, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


@contextmanager
def serving(**more: Any) -> Iterator[JudgeServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with server.lock:
                server.at_once += 1
                server.most = max(server.most, server.at_once)
                server.times.append(time.monotonic())
                server.keys.append(self.headers.get("Authorization"))
            try:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fault = server.reply(request)
                time.sleep(fault.seconds)
            finally:
                with server.lock:
                    server.at_once -= 1
            body = json.dumps(fault.body) if isinstance(fault.body, dict) else fault.body
            data = body if isinstance(body, bytes) else body.encode()
            try:
                self.send_response(fault.status)
                for name, value in {"Content-Type": "application/json", **fault.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) + fault.promised))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # who asked has gone
                pass
            if fault.promised:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Of clients that were killed."""

    http = Server(("127.0.0.1", 0), Handler)
    server = JudgeServer(f"http://127.0.0.1:{http.server_port}/v1", **more)

    def serve() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})  # the command lets it end the process
        http.serve_forever(poll_interval=0.02)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
