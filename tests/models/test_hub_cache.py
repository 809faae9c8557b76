"""Models from a hub that is a small server of ours: what is fetched, what is cached, what is said."""

import json

import pytest
from hub_server import NEWER, REPOS, hub_in
from identities import identity_of

pytestmark = pytest.mark.full

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
outcome["bars"] = not huggingface_hub.utils.are_progress_bars_disabled()
print(json.dumps({**outcome, "sigpipe": during, "after": signal.getsignal(signal.SIGPIPE).name}))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, dict]:
    """What resolve() made of each job, and what the server was asked for meanwhile; one process imports torch for all."""
    folder = tmp_path_factory.mktemp("hub")
    with hub_in(folder) as hub:

        def job(name, home="home", **settings):
            return hub.job([name], home, **settings)

        jobs = {
            "first": job("own/both"),
            "again": job("own/both"),
            "no network, cached": job("own/both", network=False),
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
            "no network": job("own/both", "empty", network=False),
            "offline": job("own/both", "empty", offline="1"),
            "no weights": job("own/no-weights"),
            "no config": job("own/no-config"),
        }
        results = {}
        for name, done in hub.run("import ctx_metrics.models.hub as hub", BODY, jobs).items():
            assert done.returncode == 0, (name, done.stderr)
            outcome = json.loads(done.stdout.splitlines()[-1])
            results[name] = {**outcome, "stdout": done.stdout, "stderr": done.stderr, "asked": done.asked}
    return results


def test_a_model_is_fetched_once_and_pinned(outcomes):
    first = outcomes["first"]
    assert (first["name"], first["revision"]) == ("own/both", "1" * 12)
    assert first["ckpt"] == identity_of({name: REPOS["own/both"][name] for name in first["files"]})
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
    files = {name: REPOS["own/both"][name] for name in outcomes["revision"]["files"]}
    expected = identity_of({**files, **NEWER["own/both"]})
    assert outcomes["revision"]["ckpt"] == expected != outcomes["first"]["ckpt"]
    assert outcomes["commit"]["folder"] == outcomes["revision"]["folder"] and outcomes["commit"]["asked"] == []


def test_other_kinds_of_weights(outcomes):
    assert outcomes["bin"]["files"] == ["config.json", "pytorch_model.bin", "vocab.txt"]
    assert outcomes["bin"]["ckpt"] == identity_of(REPOS["own/bin"])
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
        ("gated", "own/gated is gated: accept its terms at https://huggingface.co/own/gated "),
        ("missing", "no model 'own/nothing' on the hub"),
        ("no such revision", "own/both has no revision 'v9' on the hub"),
        ("no network", "own/both is not in the cache"),
        ("offline", "own/both is not in the cache"),
        ("no weights", "own/no-weights holds no weights"),
        ("no config", "own/no-config is not a complete encoder checkpoint: config.json"),
    ],
)
def test_what_cannot_be_had_says_why(outcomes, name, says):
    assert outcomes[name].get("error", "").startswith(says)
    assert "\n" not in outcomes[name]["error"]
    if name == "offline":
        assert outcomes[name]["asked"] == []
    if name == "no weights":
        assert not [line for line in outcomes[name]["asked"] if "/resolve/" in line]


def test_nothing_is_written_where_there_is_no_terminal(outcomes):
    assert {name: found["stderr"] for name, found in outcomes.items() if found["stderr"]} == {}
    assert all(found["stdout"].count("\n") == 1 for found in outcomes.values())
    assert all(found["bars"] for found in outcomes.values())  # of the user's own downloads


def test_a_broken_pipe_is_ignored_while_fetching(outcomes):
    fetched = [name for name in outcomes if outcomes[name]["sigpipe"]]
    assert {"first", "revision", "bin", "gated", "missing", "no network"} <= set(fetched)
    assert all(set(outcomes[name]["sigpipe"]) == {"SIG_IGN"} for name in fetched)
    assert all(found["after"] == "SIG_DFL" for found in outcomes.values())
