"""The folders of tiny models that the tests of the GPU path share."""

from functools import cache
from pathlib import Path

import pytest
import torch
from gpu_runs import Folders

from ctx_metrics import release


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tiny_bert) -> Folders:
    return _folders(tmp_path_factory.getbasetemp() / "gpu-folders", tiny_bert)


@cache  # each module that imports the fixture has one of its own
def _folders(root: Path, bert: Path) -> Folders:
    root.mkdir()
    return Folders(root, bert)


@pytest.fixture(autouse=True)
def nothing_is_loaded():
    """A model that was loaded with or without a stand-in card serves no test but its own; TF32 is off, which the commands of
    unbabel-comet turn on for the whole process."""
    matrices = torch.backends.cuda.matmul
    before, matrices.fp32_precision = matrices.fp32_precision, "ieee"
    release()
    yield
    release()
    matrices.fp32_precision = before
