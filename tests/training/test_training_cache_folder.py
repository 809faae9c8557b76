"""The folder of the embedding cache: runs that were killed, other settings, other processes, damage."""

import errno
import json
import os
import shutil

import pytest
import torch
from training_cache_conftest import (
    CKPT,
    LAYERS,
    TOKEN,
    Killed,
    bound_encoder,  # noqa: F401  a fixture
    chunks,
    contents,
    encoder,  # noqa: F401  a fixture
    filled,
    same,
    small_chunks,  # noqa: F401  a fixture
    some_texts,
)

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.training import token_states as module
from ctx_metrics.training.token_states import EmbeddingCache


def test_killed_at_any_moment_and_resumed(tmp_path, small_chunks, bound_encoder, monkeypatch, caplog):
    train, dev = some_texts(40, 1), some_texts(30, 2)
    copies = []

    def copy(*file):  # what a process that is killed here leaves
        copies.append(tmp_path / f"copy{len(copies)}")
        shutil.copytree(tmp_path / "whole", copies[-1])

    bound_encoder.before_batch = copy
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths, replace=os.replace: (copy(), replace(*paths), copy()))
        whole = filled(tmp_path / "whole", bound_encoder, train, dev)
    bound_encoder.before_batch = lambda: None
    wanted, number_of_chunks = whole.states(train + dev), len(bound_encoder.batches)
    assert len(copies) == 3 * number_of_chunks + 6 > 18  # cache.json and two plans too
    for number, folder in enumerate(copies):
        done = len(chunks(folder))
        assert number >= 3 * done
        (folder / ".half.tmp").mkdir()
        (folder / ".half.tmp" / "plan-0007").write_bytes(b"half a plan")
        (folder / ".half.tmp" / "chunk-0000-000999.f16").write_bytes(b"x" * (5 * TOKEN + 3))
        bound_encoder.batches.clear()
        cache = filled(folder, bound_encoder, train, dev)
        assert len(bound_encoder.batches) == number_of_chunks - done  # what was finished is not encoded again
        assert same(cache.states(train + dev), wanted)
        assert contents(folder) == contents(tmp_path / "whole")
    assert not caplog.messages


def test_interrupted_and_filled_again_in_one_process(tmp_path, small_chunks, bound_encoder):
    texts = some_texts(60)
    wanted = filled(None, bound_encoder, texts).states(texts)
    chunks = len(bound_encoder.batches)
    bound_encoder.batches.clear()
    cache = EmbeddingCache(tmp_path / "c", bound_encoder, layers=LAYERS, ckpt=CKPT)

    def interrupt():
        if len(bound_encoder.batches) == 3:
            bound_encoder.before_batch = lambda: None
            raise Killed

    bound_encoder.before_batch = interrupt
    with pytest.raises(Killed):
        cache.fill(texts)
    cache.fill(texts)
    assert len(bound_encoder.batches) == chunks and same(cache.states(texts), wanted)
    assert len(bound_encoder.batches) == chunks  # all were kept


def test_another_fill_in_between_changes_nothing(tmp_path, small_chunks, bound_encoder):
    """A text belongs to the plan that had it first, also when it is first encoded for somebody else."""
    texts = some_texts(60)
    others = texts[30:] + some_texts(30, seed=5)
    wanted = filled(None, bound_encoder, texts).states(texts)
    bound_encoder.batches.clear()

    def interrupt():
        if len(bound_encoder.batches) == 2:
            raise Killed

    bound_encoder.before_batch = interrupt
    cache = EmbeddingCache(tmp_path / "c", bound_encoder, layers=LAYERS, ckpt=CKPT)
    with pytest.raises(Killed):
        cache.fill(texts)
    cache.close()
    bound_encoder.before_batch = lambda: None
    filled(tmp_path / "c", bound_encoder, others).close()
    assert same(filled(tmp_path / "c", bound_encoder, texts).states(texts), wanted)


def refusal(folder, encoder, layers=LAYERS, ckpt=CKPT, max_content=None):
    with pytest.raises(InputError) as caught:
        EmbeddingCache(folder, encoder, layers=layers, ckpt=ckpt, max_content=max_content)
    message = str(caught.value)
    assert "\n" not in message and str(folder) in message and "--cache" in message
    return message


def test_made_with_other_settings(tmp_path, encoder, tiny_bert, monkeypatch):
    filled(tmp_path / "c", encoder, ["a cat"]).close()
    before = contents(tmp_path / "c")
    assert "ckpt 0123456789ab, not ffffffffffff" in refusal(tmp_path / "c", encoder, ckpt="f" * 12)
    message = refusal(tmp_path / "c", encoder, layers=(1, 2))
    assert message.endswith("was made with layers [1, 3], not [1, 2]: name another --cache folder or delete this one")
    assert "layers" in refusal(tmp_path / "c", encoder, layers=(3, 1))
    both = refusal(tmp_path / "c", encoder, layers=(1,), max_content=9)
    assert "layers [1, 3], not [1]; max_content 68, not 9" in both
    assert "dtype float32, not bfloat16" in refusal(tmp_path / "c", TextEncoder(tiny_bert, EngineOptions(dtype="bf16")))
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "width", 32)
        assert "width 48, not 32" in refusal(tmp_path / "c", encoder)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "1.0")
        assert (
            f"torch {torch.__version__}" not in (message := refusal(tmp_path / "c", encoder)) and "not 1.0" in message
        )
    with monkeypatch.context() as patch:
        patch.setattr(module, "FORMAT", 4)
        assert "format 3, not 4" in refusal(tmp_path / "c", encoder)
    assert contents(tmp_path / "c") == before


def test_identity_file(tmp_path, encoder):
    filled(tmp_path / "deep" / "c", encoder, ["a cat"])
    assert json.loads((tmp_path / "deep" / "c" / "cache.json").read_text()) == {
        "format": 3,
        "ckpt": CKPT,
        "layers": [1, 3],
        "width": 48,
        "max_content": 68,
        "dtype": "float32",
        "torch": torch.__version__,
    }


def test_folder_of_something_else(tmp_path, encoder):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "draft.tmp").write_text("mine")
    assert "not an embedding cache, and not empty" in refusal(tmp_path, encoder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft.tmp", "notes.txt"]
    assert "notes.txt is a file, but a folder is needed there" in refusal(tmp_path / "notes.txt", encoder)


def test_killed_before_the_first_file(tmp_path, encoder):
    (tmp_path / "lock").touch()
    (tmp_path / ".half.tmp").mkdir()
    (tmp_path / ".half.tmp" / "cache.json").write_text("{")
    filled(tmp_path, encoder, ["a cat"]).close()
    assert not (tmp_path / ".half.tmp").exists()


def test_one_process_at_a_time(tmp_path, encoder, tiny_bert):
    first = filled(tmp_path / "c", encoder, ["a cat"])
    assert "is in use by another process" in refusal(tmp_path / "c", TextEncoder(tiny_bert))
    first.fill(["a dog"])
    first.close()
    filled(tmp_path / "c", encoder, ["a cat"])


def test_a_refused_folder_is_free_again(tmp_path, encoder):
    filled(tmp_path / "c", encoder, ["a cat"]).close()
    refusal(tmp_path / "c", encoder, layers=(1,))
    filled(tmp_path / "c", encoder, ["a cat"])


@pytest.mark.parametrize("keep", [0, 1, 0.3, 0.99])
def test_chunks_cut_short(tmp_path, small_chunks, bound_encoder, caplog, keep):
    texts = some_texts(60)
    cache = filled(tmp_path / "c", bound_encoder, texts)
    wanted, before = cache.states(texts), contents(tmp_path / "c")
    cache.close()
    cut = chunks(tmp_path / "c")[1 : 2 if keep == 0.99 else None]
    for path in cut:
        os.truncate(path, int(path.stat().st_size * keep))
    bound_encoder.batches.clear()
    cache = filled(tmp_path / "c", bound_encoder, texts)
    assert same(cache.states(texts), wanted) and contents(tmp_path / "c") == before
    again = len(bound_encoder.batches)
    if keep == 1:
        assert again == 0 and not caplog.messages
    else:
        number = "1 chunk is" if again == 1 else f"{again} chunks are"
        assert caplog.messages == [f"{tmp_path / 'c'}: {number} damaged and encoded again"]
        assert again == len(cut) and (again == 1) == (keep == 0.99)


def flip(path, at):
    """Change one bit of a file, as an old disk does; `at` is where, from 0 to 1."""
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("at", [0, 0.37, 0.5, 0.99, 1])
@pytest.mark.parametrize("bound", [{}, {"limit_mb": 0}])
def test_a_bit_that_the_disk_has_changed(tmp_path, small_chunks, bound_encoder, caplog, at, bound):
    """Its chunk is encoded again, also where there is no room to keep it; a later run finds it sound."""
    texts = some_texts(60)
    cache = filled(tmp_path / "c", bound_encoder, texts)
    wanted = cache.states(texts)
    cache.close()
    flip(chunks(tmp_path / "c")[2], at)
    bound_encoder.batches.clear()
    cache = filled(tmp_path / "c", bound_encoder, texts, **bound)
    cache.fill(texts)
    assert same(cache.states(texts), wanted) and len(bound_encoder.batches) == 1
    cache.close()
    said = f"{tmp_path / 'c'}: 1 chunk is damaged and encoded again"
    assert caplog.messages[0] == said and caplog.messages.count(said) == 1
    caplog.clear()
    again = filled(tmp_path / "c", bound_encoder, texts)
    assert same(again.states(texts), wanted) and caplog.messages == [said] * bool(bound)


def test_a_chunk_under_the_name_of_another(tmp_path, small_chunks, bound_encoder, caplog):
    texts = some_texts(60)
    cache = filled(tmp_path / "c", bound_encoder, texts)
    wanted = cache.states(texts)
    cache.close()
    first, second, *_ = chunks(tmp_path / "c")
    shutil.copy(first, second)
    assert same(filled(tmp_path / "c", bound_encoder, texts).states(texts), wanted)
    assert caplog.messages == [f"{tmp_path / 'c'}: 1 chunk is damaged and encoded again"]


def test_a_bit_of_a_plan(tmp_path, encoder):
    filled(tmp_path / "c", encoder, some_texts(20)).close()
    path = tmp_path / "c" / "plan-0000"
    for at in (0.6, 1):
        flip(path, at)
        assert refusal(tmp_path / "c", encoder).startswith(f"{path}: the file is damaged; ")
        flip(path, at)
    filled(tmp_path / "c", encoder, some_texts(20))


@pytest.mark.parametrize("name", ["cache.json", "plan-0000"])
def test_damaged_files(tmp_path, encoder, name):
    filled(tmp_path / "c", encoder, some_texts(20)).close()
    path = tmp_path / "c" / name
    os.truncate(path, path.stat().st_size - 2)
    assert refusal(tmp_path / "c", encoder).startswith(f"{path}: the file is damaged; ")


@pytest.mark.parametrize("content", ["[" * 100_000, "1"])
def test_what_is_no_identity(tmp_path, encoder, content):
    filled(tmp_path / "c", encoder, some_texts(20)).close()
    (tmp_path / "c" / "cache.json").write_text(content)
    assert refusal(tmp_path / "c", encoder).startswith(f"{tmp_path / 'c' / 'cache.json'}: the file is damaged; ")


def test_finished_chunks_without_their_plan(tmp_path, small_chunks, encoder):
    """Nobody could tell what they hold; they are left alone, as are those that no plan has."""
    train, dev = some_texts(40), some_texts(40, 2)
    cache = filled(tmp_path / "c", encoder, train, dev)
    wanted = cache.states(train + dev)
    cache.close()
    (tmp_path / "c" / "plan-0000").unlink()
    (tmp_path / "c" / "chunk-0001-000999.f16").write_bytes(b"of no plan")
    again = filled(tmp_path / "c", encoder, train, dev).states(train + dev)
    for found, of_text in zip(again, wanted):  # to the last bit of fp16 at most, as their chunks are others
        torch.testing.assert_close(found, of_text, rtol=2**-10, atol=1e-5)


def test_disk_full(tmp_path, small_chunks, bound_encoder, monkeypatch):
    texts = some_texts(60)
    wanted = filled(None, bound_encoder, texts).states(texts)
    cache = EmbeddingCache(tmp_path / "c", bound_encoder, layers=LAYERS, ckpt=CKPT)
    written = []

    def full(*paths, replace=os.replace):
        written.append(paths)
        if len(written) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match="No space left on device; name another --cache folder$"):
            cache.fill(texts)
    cache.fill(texts)
    assert same(cache.states(texts), wanted)
