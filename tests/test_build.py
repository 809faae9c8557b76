"""The build backend: every wheel has ctx_metrics.pth at its root, with its RECORD line."""

import base64
import csv
import hashlib
import importlib.util
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from plugin_conftest import run

ROOT = Path(__file__).resolve().parent.parent
needs_setuptools = pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="needs setuptools")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The files that a wheel is made of, without build leftovers."""
    folder = tmp_path_factory.mktemp("build") / "tree"
    folder.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "_ctx_metrics_startup.py", "ctx_metrics.pth", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    (folder / "README.md").write_text("ctx-metrics\n")
    for name in ("build_backend", "ctx_metrics"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    return folder


def built(tree: Path, folder: Path, hook: str = "build_wheel") -> Path:
    """A wheel of the tree."""
    code = f"import sys; sys.path.insert(0, 'build_backend'); import ctx_backend; print('NAME', ctx_backend.{hook}(sys.argv[1]))"
    done = run(sys.executable, "-c", code, folder, cwd=tree)
    assert done.returncode == 0, done.stderr
    assert "is absent from the `packages` configuration" not in done.stdout + done.stderr
    return folder / done.stdout.split("NAME ")[-1].strip()


@pytest.mark.full
@needs_setuptools
@pytest.mark.parametrize("hook", ["build_wheel", "build_editable"])
def test_wheel_has_the_pth_file_at_its_root(tree, tmp_path, hook):
    with zipfile.ZipFile(built(tree, tmp_path, hook)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names))
        content = archive.read("ctx_metrics.pth")
        assert content == (ROOT / "ctx_metrics.pth").read_bytes()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows:
            if name != record:
                data = archive.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={expected}", str(len(data)))
        points = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
        assert "[sacrebleu.metrics]" in points and "bertr = ctx_metrics.metrics.bertr:BERTR" in points
    if hook == "build_wheel":
        assert {"_ctx_metrics_startup.py", "ctx_metrics/plugin/command.py"} <= set(names)
        assert "ctx_metrics/pairwise/training/card.md" in names
        assert not [name for name in names if name.startswith(("tests", "build_backend", "examples"))]
    else:
        assert "ctx_metrics/plugin/command.py" not in names


@pytest.mark.full
@needs_setuptools
def test_a_wheel_has_no_module_of_an_earlier_build(tree, tmp_path):
    removed = tree / "ctx_metrics" / "removed.py"
    removed.write_text("")
    for number, there in enumerate((True, False)):
        with zipfile.ZipFile(built(tree, tmp_path / str(number))) as archive:
            assert ("ctx_metrics/removed.py" in archive.namelist()) == there
        removed.unlink(missing_ok=True)


@pytest.mark.full
@needs_setuptools
def test_an_unpacked_wheel_arms_the_hook(tree, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(built(tree, tmp_path)) as archive:
        archive.extractall(site)
    code = f"import site, sys; site.addsitedir({str(site)!r}); print(sys.modules['_ctx_metrics_startup'].__file__)"
    done = run(sys.executable, "-S", "-c", code)
    assert done.stdout.strip() == str(site / "_ctx_metrics_startup.py"), done.stderr


@needs_setuptools
def test_the_other_hooks_are_setuptools_own():
    code = (
        "import sys; sys.path.insert(0, 'build_backend'); import ctx_backend; from setuptools import build_meta\n"
        "names = ['get_requires_for_build_wheel', 'prepare_metadata_for_build_wheel', 'build_sdist', 'get_requires_for_build_editable']\n"
        "print(all(getattr(ctx_backend, n) == getattr(build_meta, n) for n in names))"
    )
    assert run(sys.executable, "-c", code, cwd=ROOT).stdout.strip() == "True"
