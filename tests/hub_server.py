"""A model hub that is a small server of ours: its repositories, and how it answers."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from plugin_conftest import run_forked

Repositories = Mapping[str, Mapping[str, bytes]]  # their files by name
COMMITS = {"main": "1" * 40, "v2": "2" * 40}
CONFIG = b'{"model_type": "bert"}'
REPOS = {
    "own/both": {
        "config.json": CONFIG,
        "tokenizer.json": b"{}",
        "model.safetensors": b"safe weights",
        "pytorch_model.bin": b"bin weights",
        "tf_model.h5": b"no",
        "README.md": b"no",
    },
    "own/bin": {"config.json": CONFIG, "vocab.txt": b"a", "pytorch_model.bin": b"bin weights"},
    "own/shards": {
        "config.json": CONFIG,
        "model.safetensors.index.json": json.dumps(
            {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
        ).encode(),
        "model-00001-of-00002.safetensors": b"one",
        "model-00002-of-00002.safetensors": b"two",
    },
    "own/no-weights": {"config.json": CONFIG, "README.md": b"text"},
    "own/no-config": {"model.safetensors": b"safe weights"},
    "own/gated": {"config.json": CONFIG, "model.safetensors": b"safe weights"},
    "single": {"config.json": CONFIG, "model.safetensors": b"single weights"},
}
NEWER = {"own/both": {"model.safetensors": b"safe weights 2"}}  # files that are others in the revision v2


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        self.server.asked.append(f"{self.command} {path}")
        if path.startswith("/mark/"):
            return self.answer(200, b"")
        for repo, files in self.server.repositories.items():
            if path.startswith(f"/api/models/{repo}/revision/") or path == f"/api/models/{repo}":
                revision = path.split("/revision/")[1] if "/revision/" in path else "main"
                return self.model(repo, files, revision)
            if path.startswith(f"/api/models/{repo}/tree/"):  # newer huggingface_hub asks for it
                return self.tree(repo, files, path.removeprefix(f"/api/models/{repo}/tree/"))
            if path.startswith(f"/{repo}/resolve/"):
                revision, name = path.removeprefix(f"/{repo}/resolve/").split("/", 1)
                return self.file(repo, files, revision, name)
        # the real hub gives 401 for names that do not exist, since they may be private
        self.fails(401, "RepoNotFound", "Repository not found")

    def commit(self, revision):
        return COMMITS.get(revision) or (revision if revision in COMMITS.values() else None)

    def refused(self, repo, revision) -> bool:
        if repo == "own/gated":
            self.fails(403, "GatedRepo", "Access is restricted")
        elif self.commit(revision) is None:
            self.fails(404, "RevisionNotFound", "Invalid rev id")
        else:
            return False
        return True

    def model(self, repo, files, revision):
        gated = repo == "own/gated"  # its page is public, its files are not
        if gated or not self.refused(repo, revision):
            page = {"id": repo, "sha": self.commit(revision), "private": False, "tags": [], "downloads": 0}
            page |= {"gated": "auto"} if gated else {}
            self.answer(200, {**page, "siblings": [{"rfilename": name} for name in files]})

    def tree(self, repo, files, revision):
        if not self.refused(repo, revision):
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in files.items()
            ]
            self.answer(200, rows)

    def file(self, repo, files, revision, name):
        if self.refused(repo, revision):
            return
        if name not in files:
            headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": self.commit(revision)}
            return self.answer(404, {"error": "no file"}, headers)
        newer = self.server.newer.get(repo, {}) if self.commit(revision) == COMMITS["v2"] else {}
        data = newer.get(name, files[name])
        large = name.endswith((".ckpt", ".safetensors", ".bin"))  # the hub's tag of a large file is its sha256
        etag = (hashlib.sha256 if large else hashlib.sha1)(data).hexdigest()
        self.answer(200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": self.commit(revision)})

    def fails(self, status, code, message):
        self.answer(status, {"error": message}, {"X-Error-Code": code, "X-Error-Message": message})

    def answer(self, status, body, headers={}):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class Hub:
    """A running server, and jobs of run_forked that ask it: each job's process first leaves a mark in the server's log."""

    MARK = "import urllib.request; urllib.request.urlopen(job['env']['MARK']).read()"

    def __init__(self, folder: Path, repositories: Repositories, newer: Repositories):
        self.folder, self._server = folder, ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.asked, self._server.repositories, self._server.newer = [], repositories, newer
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.closed = f"http://127.0.0.1:{free.getsockname()[1]}"

    def job(self, args: list[str], home: str = "home", network: bool = True, offline: str = "0") -> dict:
        """A job with arguments, whose cache is the folder `home`; without a network no server answers."""
        env = {
            "HF_ENDPOINT": self.url if network else self.closed,
            "HF_HOME": str(self.folder / home),
            "HF_HUB_OFFLINE": offline,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_ETAG_TIMEOUT": "3",
        }
        return {"args": args, "env": env}

    def run(self, setup: str, body: str, jobs: dict[str, dict]) -> dict:
        """What each job has done; `asked` is what it asked of the server."""
        for number, each in enumerate(jobs.values()):
            each["env"]["MARK"] = f"{self.url}/mark/{number}"
        results = run_forked(self.folder / "jobs", setup, f"{self.MARK}\n{body}", jobs)
        for number, done in enumerate(results.values()):
            log = [*self._server.asked[self._server.asked.index(f"GET /mark/{number}") + 1 :], "GET /mark/"]
            done.asked = log[: next(i for i, line in enumerate(log) if line.startswith("GET /mark/"))]
        return results


@contextmanager
def hub_in(folder: Path, repositories: Repositories = REPOS, newer: Repositories = NEWER) -> Iterator[Hub]:
    hub = Hub(folder, repositories, newer)
    try:
        yield hub
    finally:
        hub._server.shutdown()
        hub._server.server_close()
