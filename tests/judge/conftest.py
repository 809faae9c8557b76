"""A server for the tests of `judge`. Servers count over the process, so each test begins without those of another."""

import ssl

import pytest
from judge_server import serving

from ctx_metrics.engine.memory import LoadedModels


@pytest.fixture(autouse=True)
def new_servers(monkeypatch):
    LoadedModels.clear_all()
    # the client reads all certificates of the machine, a third of a second each time, and no server here needs any
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)


@pytest.fixture
def server():
    with serving() as made:
        yield made
