"""The cache of a frozen encoder's states: what it holds, its bound, runs that were killed, other settings, damage."""

import errno
import os
import random
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from selection import some
from toy_judgements import WORDS

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.training import token_states
from ctx_metrics.training.token_states import EmbeddingCache

LAYERS, CKPT = (1, 3), "0123456789ab"
TOKEN = 2 * 2 * 48  # bytes of a token's states: fp16, two layers, width 48


def some_texts(number, seed=1, longest=12):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, longest))) for _ in range(number)]


class BatchBound(TextEncoder):
    """Adds the number of tokens encoded together to every state, and counts.

    Every state shows its batch, so that a text that was encoded beside other texts than the plan's is seen on any machine.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.batches = []
        self.before_batch = lambda: None

    def encode(self, tokens, readouts):
        self.before_batch()
        self.batches.append(len(tokens))
        together = sum(len(text.ids) for text in tokens) + int(tokens[0].ids.sum()) / 64
        return [{key: value + together for key, value in states.items()} for states in super().encode(tokens, readouts)]


class Killed(BaseException):
    pass


@pytest.fixture
def encoder(tiny_bert):
    return TextEncoder(tiny_bert)


@pytest.fixture
def bound_encoder(tiny_bert):
    return BatchBound(tiny_bert)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(token_states, "CHUNK_TOKENS", 60)


def filled(folder, encoder, *fills, **options):
    cache = EmbeddingCache(folder, encoder, layers=LAYERS, ckpt=CKPT, **options)
    for texts in fills:
        cache.fill(texts)
    return cache


def same(found, wanted):
    return len(found) == len(wanted) and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(found, wanted))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def size(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def chunks(folder):
    """The files of the finished chunks, in order."""
    return sorted(folder.glob("chunk-*.f16"))


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta"])
def test_states_are_the_encoders_rounded_to_fp16_without_specials(request, tmp_path, kind, on_disk):
    folder, texts = request.getfixturevalue(kind), ["the cat sat", "a dog", "", "the cat sat", *some_texts(30)]
    cache = filled(tmp_path / "c" if on_disk else None, TextEncoder(folder), texts)
    plain = TextEncoder(folder)
    layers = [(layer,) for layer in LAYERS]
    for text, found in zip(texts, cache.states(texts)):
        states = plain.encode(plain.tokenizer([text]), layers)[0]
        wanted = torch.stack([states[layer][1:-1] for layer in layers], 1)
        assert found.dtype == torch.float16 and found.shape == wanted.shape
        # to the last bit of fp16 at most, as the batch is another
        torch.testing.assert_close(found, wanted.half(), rtol=2**-10, atol=1e-5)
        assert (found == wanted.half()).float().mean() > 0.99 or not len(found)
    assert (tmp_path / "c").exists() == on_disk


def test_tensors_own_their_memory(tmp_path, encoder):
    texts = some_texts(5)
    for cache in (filled(tmp_path / "c", encoder, texts), filled(None, encoder, texts)):
        before = [tensor.clone() for tensor in cache.states(texts)]
        for tensor in cache.states(texts):
            tensor.zero_()
        assert same(cache.states(texts), before)


def test_lengths_cut_empty_and_equal_texts(tmp_path, bound_encoder):
    long, longer = "the cat sat on the mat", "the cat sat on a mat"
    texts = [long, longer, "dogs", "", "  ", "dogs", long, "a cat"]
    cache = filled(tmp_path / "c", bound_encoder, ["", " "], texts, max_content=4)
    # "dogs" is dog + ##s; both long texts are cut from 6 tokens to the same 4
    assert cache.lengths(texts) == [4, 4, 2, 0, 0, 2, 4, 2]
    assert [len(states) for states in cache.states(texts)] == [4, 4, 2, 0, 0, 2, 4, 2]
    assert cache.cut == 2
    assert bound_encoder.batches == [3]  # the long one, dogs, a cat
    first, second = cache.states(texts[:2])
    assert torch.equal(first, second)
    assert cache.states([""])[0].shape == (0, 2, 48)
    assert cache.states([]) == [] and cache.lengths([]) == []
    cache.fill([*texts, "red red red red red"])
    assert cache.cut == 3  # texts that were known are not counted again


def test_max_content_is_at_most_the_encoders(tmp_path, encoder):
    long = " ".join(["cat"] * 100)  # 70 positions hold 68 tokens beside the specials
    cache = filled(tmp_path / "c", encoder, [long], max_content=500)
    assert cache.lengths([long]) == [68] and cache.cut == 1
    cache.close()
    filled(tmp_path / "c", encoder, [long])  # which is the same bound


def test_chunks_are_groups_of_the_sorted_texts(small_chunks, bound_encoder):
    texts = some_texts(80)
    filled(None, bound_encoder, texts)
    # shortest first, each chunk at most 60 tokens with specials, each distinct text once
    lengths = sorted(len(text.split()) + 2 for text in set(texts))
    bounds = np.cumsum([0, *bound_encoder.batches])
    assert bounds[-1] == len(lengths)
    sums = [sum(lengths[a:b]) for a, b in zip(bounds, bounds[1:])]
    assert max(sums) <= 60 and all(total + lengths[b] > 60 for total, b in zip(sums, bounds[1:-1]))


def test_order_and_repetition_of_texts_do_not_matter(tmp_path, small_chunks, bound_encoder):
    texts = some_texts(50)
    first = filled(tmp_path / "a", bound_encoder, texts)
    second = filled(tmp_path / "b", bound_encoder, texts[::-1] + texts[:20])
    assert same(first.states(texts), second.states(texts))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_several_fills_encode_each_text_once(tmp_path, small_chunks, bound_encoder):
    train, dev = some_texts(50, 1), some_texts(50, 2)
    assert set(train) & set(dev)
    cache = filled(tmp_path / "c", bound_encoder, train)
    before = cache.states(train)
    assert sum(bound_encoder.batches) == len(set(train))
    cache.fill(dev, "development")
    assert sum(bound_encoder.batches) == len({*train, *dev})
    both = cache.states(train + dev)
    assert same(both[:50], before)
    cache.close()
    again = filled(tmp_path / "c", bound_encoder, dev)  # without the first
    assert same(again.states(dev), both[50:])
    again.fill(train)
    assert same(again.states(train), before)
    assert sum(bound_encoder.batches) == len({*train, *dev})
    more = some_texts(20, 3)
    again.fill(train + more)
    assert sum(bound_encoder.batches) == len({*train, *dev, *more})
    assert same(again.states(train), before)


@pytest.mark.full
def test_bound(tmp_path, bound_encoder, caplog):
    # about 9000 tokens of 192 bytes; 1 MiB holds 5461
    texts, dev = some_texts(900, longest=20), some_texts(50, 2, longest=20)
    unbounded = filled(tmp_path / "all", bound_encoder, texts)
    of_chunk = list(bound_encoder.batches)  # texts of each
    unbounded.fill(dev)
    wanted, whole = unbounded.states(texts + dev), size(tmp_path / "all")
    assert not caplog.messages and whole > 1.5 * 2**20
    all_chunks = len(bound_encoder.batches)
    bound_encoder.batches.clear()
    cache = filled(tmp_path / "c", bound_encoder, texts, dev, limit_mb=1)
    encoded = len(bound_encoder.batches)
    assert 2**20 - 512 * TOKEN - 24 < size(tmp_path / "c") <= 2**20  # not one chunk more
    assert encoded < all_chunks  # what is beyond the bound waits until it is read
    finished = [int(path.stem[-6:]) for path in (tmp_path / "c").glob("chunk-0000-*.f16")]
    beyond = sum(of_chunk) - sum(of_chunk[chunk] for chunk in finished)
    assert beyond < sum(of_chunk) / 2 and len(caplog.messages) == 2
    assert caplog.messages[0].startswith(
        f"encoding: {beyond} of {len(set(texts))} texts are beyond the embedding cache's"
    )
    assert same(cache.states(texts + dev), wanted)
    read = len(bound_encoder.batches)
    assert same(cache.states(texts), wanted[:900]) and len(bound_encoder.batches) == read  # still in memory
    cache.close()
    for limit in (4, 1):  # with room, and then without, where what is there is used
        again = filled(tmp_path / "c", bound_encoder, texts, dev, limit_mb=limit)
        assert same(again.states(texts + dev), wanted)
        assert len(bound_encoder.batches) == read + all_chunks - encoded and len(caplog.messages) == 2
        again.close()


def test_the_bound_counts_every_byte(tmp_path, encoder):
    filled(tmp_path / "all", encoder, ["a cat"])
    for room, is_kept in ((0, True), (-1, False)):
        cache = EmbeddingCache(tmp_path / str(room), encoder, layers=LAYERS, ckpt=CKPT)
        cache.limit = size(tmp_path / "all") + room
        cache.fill(["a cat"])
        assert (size(tmp_path / str(room)) == size(tmp_path / "all")) == is_kept
        assert size(tmp_path / str(room)) <= cache.limit


@pytest.mark.full
def test_no_room_at_all(tmp_path, small_chunks, bound_encoder, monkeypatch):
    """Not even for the plans, which then come out the same every time."""
    monkeypatch.setattr(token_states, "RECENT_BYTES", 0)
    train, dev = some_texts(30, 1), some_texts(30, 2)
    wanted = filled(tmp_path / "all", bound_encoder, train, dev).states(train + dev)
    for folder in (tmp_path / "c", tmp_path / "c", None):
        cache = filled(folder, bound_encoder, train, dev, limit_mb=0)
        assert same(cache.states(train + dev), wanted)
        read = len(bound_encoder.batches)
        assert same(cache.states(train[:1]), wanted[:1]) and len(bound_encoder.batches) == read + 1
        cache.close()
    assert sorted(contents(tmp_path / "c")) == ["cache.json"]
    cache = filled(tmp_path / "c", bound_encoder, train, dev)  # with room again
    assert same(cache.states(train + dev), wanted)


def test_plan_without_room_before_one_with_room(tmp_path, bound_encoder, monkeypatch):
    """Chunks of the first would fit, but nobody could tell later what they hold."""
    monkeypatch.setattr(token_states, "CHUNK_TOKENS", 16)
    train, dev = some_texts(300, 1, longest=3), ["red light on the old tree", "slow bird song"]
    wanted = filled(None, bound_encoder, train, dev).states(train + dev)
    for kept_before in (0, 1):
        cache = EmbeddingCache(tmp_path / "c", bound_encoder, layers=LAYERS, ckpt=CKPT)
        assert len(chunks(tmp_path / "c")) == kept_before
        cache.limit = 4000  # the first plan takes more, a chunk at most 14 * 192
        cache.fill(train)
        assert len(chunks(tmp_path / "c")) == kept_before
        cache.fill(dev)  # 8 + 5 tokens with specials: one chunk
        assert len(chunks(tmp_path / "c")) == 1
        assert same(cache.states(train + dev), wanted)
        cache.close()


def test_the_encoders_store_is_neither_read_nor_filled(small_chunks, encoder, tiny_bert):
    texts = some_texts(40)
    wanted = filled(None, TextEncoder(tiny_bert), texts).states(texts)
    tokens = encoder.tokenizer(texts[:1])[0]
    encoder.store.put(tokens.key, {(layer,): torch.zeros(len(tokens.ids), 48) for layer in LAYERS})
    store, size = encoder.store, encoder.store.size
    cache = filled(None, encoder, texts)
    assert same(cache.states(texts), wanted)
    assert encoder.store is store and store.size == size

    def fail(*args):
        raise Killed

    encoder._start = fail
    with pytest.raises(Killed):
        cache.fill(["under the old tree"])
    assert encoder.store is store


def test_progress_counts_what_is_encoded(tmp_path, encoder):
    said = []

    @contextmanager
    def progress(label, texts):
        said.append((label, texts))
        yield

    encoder.progress = progress
    cache = filled(tmp_path / "c", encoder, ["a cat", "a dog", "a cat", ""])
    cache.fill(["a cat", "the sun"], label="development")
    assert said == [("encoding", 2), ("development", 1)]


def test_states_that_fp16_cannot_hold(bound_encoder):
    encode = bound_encoder.encode
    bound_encoder.encode = lambda tokens, readouts: [
        {k: v * 1e6 for k, v in s.items()} for s in encode(tokens, readouts)
    ]
    with pytest.raises(ModelError, match="layers \\[1, 3\\] hold numbers that fp16 cannot"):
        filled(None, bound_encoder, ["a cat"])


def test_many_texts_are_tokenized_in_turns(tmp_path, bound_encoder, monkeypatch):
    texts = [*some_texts(50), "", " ".join(["cat"] * 80)]
    wanted = filled(None, bound_encoder, texts)
    monkeypatch.setattr(token_states, "TOKENIZED_AT_ONCE", 7)
    cache = filled(None, bound_encoder, texts)
    assert same(cache.states(texts), wanted.states(texts)) and cache.cut == wanted.cut == 1


@pytest.mark.full
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
    for other, said in (
        ({"ckpt": "f" * 12}, "ckpt 0123456789ab, not ffffffffffff: "),
        ({"layers": (3, 1)}, "layers [1, 3], not [3, 1]: "),
        ({"layers": (1,), "max_content": 9}, "layers [1, 3], not [1]; max_content 68, not 9: "),
    ):
        assert f"was made with {said}" in refusal(tmp_path / "c", encoder, **other)
    assert "dtype float32, not bfloat16" in refusal(tmp_path / "c", TextEncoder(tiny_bert, EngineOptions(dtype="bf16")))
    for patched, said in (
        ((encoder, "width", 32), "width 48, not 32"),
        ((torch, "__version__", "1.0"), "not 1.0"),
        ((token_states, "FORMAT", 4), "format 3, not 4"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(*patched)
            assert said in refusal(tmp_path / "c", encoder)
    assert contents(tmp_path / "c") == before
    filled(tmp_path / "c", encoder, ["a cat"])  # which was released


def test_folder_of_something_else(tmp_path, encoder):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "draft.tmp").write_text("mine")
    assert "not an embedding cache, and not empty" in refusal(tmp_path, encoder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draft.tmp", "notes.txt"]
    assert "notes.txt is a file, but a folder is needed there" in refusal(tmp_path / "notes.txt", encoder)


def test_one_process_at_a_time(tmp_path, encoder, tiny_bert):
    first = filled(tmp_path / "c", encoder, ["a cat"])
    assert "is in use by another process" in refusal(tmp_path / "c", TextEncoder(tiny_bert))
    first.fill(["a dog"])
    first.close()
    filled(tmp_path / "c", encoder, ["a cat"])


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


def flipped(data: bytes, at: float) -> bytes:
    """One bit is another, as on an old disk; `at` is where, from 0 to 1."""
    changed = bytearray(data)
    changed[int(at * (len(data) - 1))] ^= 4
    return bytes(changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data, _: data[: int(len(data) * 0.3)],
        lambda data, _: flipped(data, 0.37),
        lambda _, other: other,  # a chunk under the name of another
    ],
)
@pytest.mark.parametrize("bound", some([{}, {"limit_mb": 0}], [{"limit_mb": 0}]))
def test_a_damaged_chunk_is_encoded_again(tmp_path, small_chunks, bound_encoder, caplog, damage, bound):
    """Also where there is no room to keep it; a later run with room finds it sound."""
    texts = some_texts(60)
    cache = filled(tmp_path / "c", bound_encoder, texts)
    wanted, before = cache.states(texts), contents(tmp_path / "c")
    cache.close()
    other, damaged, *_ = chunks(tmp_path / "c")
    damaged.write_bytes(damage(damaged.read_bytes(), other.read_bytes()))
    bound_encoder.batches.clear()
    cache = filled(tmp_path / "c", bound_encoder, texts, texts, **bound)
    assert same(cache.states(texts), wanted) and len(bound_encoder.batches) == 1
    cache.close()
    said = f"{tmp_path / 'c'}: 1 chunk is damaged and encoded again"
    assert caplog.messages[0] == said and caplog.messages.count(said) == 1
    caplog.clear()
    again = filled(tmp_path / "c", bound_encoder, texts)
    assert same(again.states(texts), wanted) and contents(tmp_path / "c") == before
    assert caplog.messages == [said] * bool(bound)


@pytest.mark.parametrize(
    "name, damage",
    [
        ("plan-0000", lambda data: flipped(data, 0.6)),
        ("cache.json", lambda data: b"[" * 100_000),
        ("cache.json", lambda data: b"1"),
    ],
)
def test_a_damaged_plan_or_identity_is_refused(tmp_path, encoder, name, damage):
    filled(tmp_path / "c", encoder, some_texts(20)).close()
    path = tmp_path / "c" / name
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    assert refusal(tmp_path / "c", encoder).startswith(f"{path}: the file is damaged")
    path.write_bytes(sound)
    filled(tmp_path / "c", encoder, some_texts(20))
