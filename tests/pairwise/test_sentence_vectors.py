"""Sentence vectors of an encoder's layers and of word vectors."""

import pickle
from hashlib import sha256

import numpy as np
import pytest

from ctx_metrics.engine.encoder import shared_encoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.models import hub
from ctx_metrics.pairwise.sentence_vectors import SentenceVectors, VectorSource, parse_source

TEXTS = ["the old cat sat", "a dog", "", "birds sing slow songs in light rain", "a dog", " ", "the river ran fast home"]
GLOVE = "the 3 4\ncat 0 2\nThe 0 -5\nnothing 0 0\n"
_sizes = iter(range(100, 10_000))


def options(**settings):
    """Settings that no other test has, so that each has an encoder and a store of its own."""
    return EngineOptions(quiet=True, store_mb=settings.pop("store_mb", next(_sizes)), **settings)


@pytest.fixture
def glove(tmp_path):
    (tmp_path / "glove.txt").write_text(GLOVE)
    return str(tmp_path / "glove.txt")


# what a source is called


def test_sources_of_the_encoder():
    for text, source in {
        "encoder": VectorSource("encoder"),
        "encoder:50": VectorSource("encoder", dimensions=50),
        "encoder@0:50": VectorSource("encoder", (0,), None, 50),
        "encoder@3,4:25": VectorSource("encoder", (3, 4), None, 25),
    }.items():
        assert parse_source(text) == source and source.spec == text


def test_sources_of_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("glove.txt", "odd:25", "encoder"):
        (tmp_path / name).write_text(GLOVE)
    path = str(tmp_path / "glove.txt")
    assert parse_source(path) == VectorSource("words", None, path, None) and parse_source(path).spec == "glove.txt"
    assert parse_source(f"{path}:25") == VectorSource("words", None, path, 25)
    assert parse_source(f"{path}:25").spec == "glove.txt:25"
    assert parse_source("odd:25") == VectorSource("words", None, "odd:25", None)
    assert parse_source("odd:25:7") == VectorSource("words", None, "odd:25", 7)
    assert parse_source("encoder").kind == "encoder" and parse_source("./encoder").kind == "words"
    assert parse_source("./encoder:2") == VectorSource("words", None, "./encoder", 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("encoder@", "no file 'encoder@'; name encoder, encoder@LAYER"),
        ("encoder@-1", "no file 'encoder@-1'"),
        ("encoder@1,:5", "no file 'encoder@1,'"),
        ("encoder:", "no file 'encoder:'"),
        ("encoder\n", "no file 'encoder\\\\n'"),
        ("absent.txt:25", "no file 'absent.txt'"),
        ("", "no file ''"),
        ("encoder@2,0,2", "names a layer twice"),
        ("encoder:0", "keeps at least 1 dimension"),
        ("here.txt:0", "keeps at least 1 dimension"),
        ("folder:3", "folder is not a readable plain file"),
    ],
)
def test_what_is_no_source(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").write_text(GLOVE)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=f"^--vectors.*{said}"):
        parse_source(text)


# the encoder's


def oracle(folder, texts, layers):
    """Means of transformers' own hidden states: fp32 [texts, width], zeros where a text has no tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            states = model(**ids, output_hidden_states=True).hidden_states
        mean = torch.stack([states[layer][0] for layer in layers]).mean((0, 1)).numpy()
        rows.append(mean if ids["input_ids"].shape[1] > 2 else np.zeros_like(mean))
    return np.stack(rows)


def test_means_of_layers_in_one_pass(tiny_bert, monkeypatch):
    specs = {"encoder": [3], "encoder@0": [0], "encoder@1,2:7": [1, 2], "encoder@2,0,3": [0, 2, 3]}
    engine = options()
    vectors = SentenceVectors([parse_source(spec) for spec in specs], str(tiny_bert), engine)
    encoder, started = shared_encoder(tiny_bert, engine), []
    inner = encoder._start
    monkeypatch.setattr(encoder, "_start", lambda texts, read: started.extend(texts) or inner(texts, read))
    found = vectors(TEXTS)
    for of_source, layers in zip(found, specs.values()):
        assert of_source.dtype == np.float32 and of_source.shape == (len(TEXTS), 48)
        assert np.allclose(of_source, oracle(tiny_bert, TEXTS, layers), atol=1e-5)
    assert np.array_equal(found[0][1], found[0][4]) and not found[0][[2, 5]].any()
    assert len(started) == 4  # distinct texts that have tokens; "" and " " have none
    assert vectors.counts == {"unknown_words": 0, "words": 0, "truncated": 0}


def test_the_embedded_encoder_is_the_default():
    vectors = SentenceVectors([parse_source("encoder@0"), parse_source("encoder")], engine=options())
    folder = hub.resolve(hub.EMBEDDED).folder
    found = vectors(TEXTS[:2])
    for of_source, layer in zip(found, (0, 6)):
        assert np.allclose(of_source, oracle(folder, TEXTS[:2], [layer]), atol=1e-5)
    assert vectors.signature() == hub.resolve(hub.EMBEDDED).signature()


@pytest.mark.full
def test_the_multilingual_encoder(multilingual):
    """By its name, layers up to the twelfth, no prompt before a text."""
    vectors = SentenceVectors([parse_source("encoder"), parse_source("encoder@0,12")], hub.MULTILINGUAL, options())
    assert vectors.signature() == {"model": hub.MULTILINGUAL_NAME, "rev": None, "ckpt": "1571fc982750"}
    last, mean = vectors(["Кошка сидела на ковре.", "", "猫が座っていた。"])
    assert last.shape == mean.shape == (3, 384) and not last[1].any()
    encoder = shared_encoder(multilingual, options())
    [states] = encoder.encode(encoder.tokenizer(["猫が座っていた。"]), [(12,)])
    assert last[2] == pytest.approx(states[(12,)].mean(0).numpy(), abs=1e-5)


def test_another_metrics_pass_reads_them_too(tiny_bert):
    engine = options()
    vectors = SentenceVectors([parse_source("encoder@1"), parse_source("encoder")], str(tiny_bert), engine)
    encoder = shared_encoder(tiny_bert, engine)
    encoder.encode(encoder.tokenizer(["a dog", "the cat"]), [(2,)])
    encoder._start = None  # nothing more goes through the network
    assert all(of_source.all(1).all() for of_source in vectors(["the cat", "a dog"]))


@pytest.mark.parametrize(("bound", "fewest", "most"), [(0, 41, 41), (20, 10, 30), (2**20, 1, 1)])
def test_blocks_are_bounded_and_change_nothing(tiny_bert, monkeypatch, bound, fewest, most):
    words = ["the", "old", "cat", "sat", "home"]
    texts = [*(" ".join([*words[: 1 + k % 5], *["a"] * (k // 5)]) for k in range(40)), "", "a", "the"]
    sources = [parse_source("encoder@1"), parse_source("encoder")]
    expected = SentenceVectors(sources, str(tiny_bert), options())(texts)
    engine = options()
    vectors = SentenceVectors(sources, str(tiny_bert), engine)
    encoder, asked = shared_encoder(tiny_bert, engine), []
    encoder.store.limit = bound * 4 * 48 * 2  # bytes of so many tokens: two readouts of 48 fp32 numbers
    inner = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda tokens, *more: asked.append(tokens) or inner(tokens, *more))
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(vectors(texts), expected))
    lengths = [[len(text.ids) for text in block] for block in asked]
    assert sum(map(len, lengths)) == 41 and fewest <= len(lengths) <= most
    assert all(sum(block) - max(block) <= bound for block in lengths)  # one text may go beyond


def test_cut_texts_are_counted(tiny_bert):
    vectors = SentenceVectors([parse_source("encoder")], str(tiny_bert), options())
    vectors(["a " * 68, "a " * 69, "a dog", "a " * 69])
    assert vectors.counts["truncated"] == 1
    vectors(["a dog"])
    assert vectors.counts["truncated"] == 0


def test_layers_that_the_encoder_does_not_have(tiny_bert):
    with pytest.raises(InputError, match="^--vectors encoder@4: the encoder has the layers 0 to 3$"):
        SentenceVectors([parse_source("encoder@1,4,2")], str(tiny_bert), options())


# those of words


def test_means_of_word_vectors(glove, tiny_bert):
    vectors = SentenceVectors([parse_source(glove)], "no/such-encoder", options())
    texts = ["the cat.", "THE The nothing", "dog", "", "the cat.", "nothing"]
    [found] = vectors(texts)
    assert found.dtype == np.float32
    # "." and "dog" are not there; (3, 4) + (0, 2) over 2; (3, 4) + (0, -5) + (0, 0) over 3
    assert np.allclose(found, [[1.5, 3], [1, -1 / 3], [0, 0], [0, 0], [1.5, 3], [0, 0]])
    # words of distinct texts: 3 + 3 + 1 + 0 + 1
    assert vectors.counts == {"unknown_words": 2, "words": 8, "truncated": 0}
    vectors(["the dog"])
    assert vectors.counts == {"unknown_words": 1, "words": 2, "truncated": 0}


# all of them


def test_sources_stay_in_their_order(glove, tmp_path, tiny_bert):
    (tmp_path / "other").write_text("dog 7 8 9\n")
    specs = [glove, "encoder@0:3", str(tmp_path / "other"), "encoder", f"{glove}:1"]
    vectors = SentenceVectors([parse_source(spec) for spec in specs], str(tiny_bert), options())
    # 13a has a token in the zero-width space, the encoder has none
    found = vectors(["a dog", "the", "\u200b"])
    assert [of_source.shape for of_source in found] == [(3, 2), (3, 48), (3, 3), (3, 48), (3, 2)]
    assert found[0].tolist() == found[4].tolist() == [[0, 0], [3, 4], [0, 0]]
    assert found[2].tolist() == [[7, 8, 9], [0, 0, 0], [0, 0, 0]]
    assert np.allclose(found[1][:2], oracle(tiny_bert, ["a dog", "the"], [0]), atol=1e-5) and not found[3][2].any()
    # 4 words looked up in each of two files; "the" is in one, "dog" in the other
    assert vectors.counts == {"unknown_words": 6, "words": 8, "truncated": 0}
    assert [of_source.shape for of_source in vectors([])] == [(0, 2), (0, 48), (0, 3), (0, 48), (0, 2)]
    assert SentenceVectors([], "no/such-encoder", options())(["a"]) == []


def test_signatures(glove, tmp_path, tiny_bert):
    (tmp_path / "other").write_text("dog 7 8 9\n")
    hashes = [sha256(text.encode()).hexdigest()[:12] for text in (GLOVE, "dog 7 8 9\n")]
    one = SentenceVectors([parse_source(glove), parse_source(f"{glove}:1")], "no/such-encoder", options())
    assert one.signature() == {"vectors": "glove.txt", "fckpt": hashes[0]}
    specs = [glove, "encoder", str(tmp_path / "other")]
    assert SentenceVectors([parse_source(spec) for spec in specs], str(tiny_bert), options()).signature() == {
        **hub.resolve(str(tiny_bert)).signature(),
        "vectors": "glove.txt+other",
        "fckpt": "+".join(hashes),
    }


def test_a_pickle_gives_the_same(glove, tiny_bert):
    vectors = SentenceVectors([parse_source("encoder@1"), parse_source(glove)], str(tiny_bert), options())
    before = vectors(TEXTS)
    after = pickle.loads(pickle.dumps(vectors))(TEXTS)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(before, after))
