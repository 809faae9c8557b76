"""From preferences to a pairwise model in a folder, against its parts called one by one and numpy by hand."""

import json
import os
import random
import signal
from dataclasses import replace

import numpy as np
import pytest
from toy_judgements import WORDS

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.opening import file_sha256
from ctx_metrics.pairwise.features import feature_scores
from ctx_metrics.pairwise.features.specs import parse_features
from ctx_metrics.pairwise.model import PairwiseModel
from ctx_metrics.pairwise.network import Shape
from ctx_metrics.pairwise.sentence_vectors import SentenceVectors, parse_source
from ctx_metrics.pairwise.training import reader as reading
from ctx_metrics.pairwise.training.learn import (
    STATE,
    Architecture,
    Reader,
    Readings,
    digest,
    feature_taus,
    fitted,
    learn,
    one_thread,
    prepared,
)
from ctx_metrics.pairwise.training.recipe import MODERN
from ctx_metrics.pairwise.training.task import PairwiseTask, strict_tau

NAN = float("nan")
RECIPE = replace(MODERN, epochs=4, batch=8, learning_rate=0.05)


def judged(name="toy", segments=12, seed=1, target="en", kept=(0.8, 0.4, 0.3), **fields) -> JudgedSet:
    """Systems A, B and C that keep so much of the reference's words; a preference a segment, and none of the last two."""
    draw = random.Random(seed)
    references = [[draw.choice(WORDS) for _ in range(7)] for _ in range(segments)]

    def changed(words: list[str], share: float) -> str:
        return " ".join(word if draw.random() < share else draw.choice(WORDS) for word in words)

    outputs = [[changed(words, share) for words in references] for share in kept]
    rows = [(segment, 0, 1 + segment % 2) if segment % 5 else (segment, 2, 1) for segment in range(segments - 2)]
    values = {"references": [list(map(" ".join, references))], "preferences": np.array(rows), "source_lang": "cs"}
    return JudgedSet(name, ["A", "B", "C"], segments, outputs, **{**values, "target_lang": target, **fields})


DEVELOPMENT = judged("dev", 30, 3, kept=(0.6, 0.5, 0.45))  # on which no model is right of all


def texts_of(sets) -> list[tuple[str, str, str]]:
    """The better, the worse and the reference text of every pair; the reference is the first that is there."""
    found = []
    for each in sets:
        for segment, better, worse in each.preferences.tolist():
            reference = next(stream[segment] for stream in each.references if stream[segment] is not None)
            found.append((each.hypotheses[better][segment], each.hypotheses[worse][segment], reference))
    return found


def scores_of(specs, sets) -> tuple[np.ndarray, np.ndarray]:
    """The features of the better and of the worse output of every pair, by feature_scores alone: [pairs, features] each."""
    sides: tuple[list, list] = [], []
    for each in sets:
        languages = each.source_lang, each.target_lang
        found = feature_scores(
            parse_features(specs),
            each.hypotheses,
            references=each.references,
            sources=each.sources,
            source_lang=languages[0],
            target_lang=languages[1],
        )
        for segment, *systems in each.preferences.tolist():
            for side, system in zip(sides, systems):
                side.append(found[system, segment])
    return np.array(sides[0]), np.array(sides[1])


@pytest.fixture
def words(tmp_path):
    """A file of word vectors, 3 numbers each, that lacks some words."""
    draw = np.random.default_rng(8)
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{word} {' '.join(f'{x:.3f}' for x in draw.normal(size=3))}\n" for word in WORDS[:-4]))
    return path


@pytest.fixture
def computed(monkeypatch):
    """Calls through to what computes; returns the list of what was computed: names of features, and "vectors"."""
    calls, scores, vectors = [], reading.feature_scores, SentenceVectors.__call__

    def scored(features, *texts):
        calls.extend(feature.spec for feature in features)
        return scores(features, *texts)

    def read(self, *given):
        calls.append("vectors")
        return vectors(self, *given)

    monkeypatch.setattr(reading, "feature_scores", scored)
    monkeypatch.setattr(SentenceVectors, "__call__", read)
    return calls


# What is read


def test_what_is_read_of_sets(tiny_bert, words):
    specs, sources = ["chrf", "bleucomp", "ter"], ["encoder@1:2", str(words), "encoder@0,2"]
    sets = [judged(), judged("other", 9, 2)]
    reader = Reader(parse_features(specs), [parse_source(each) for each in sources], str(tiny_bert))
    read = reader.read(sets)
    assert read.pairs.dtype == np.int64 and read.pairs.shape == (10 + 7, 5)
    assert read.features.shape == (3 * 12 + 3 * 9, 18) and read.features.dtype == np.float64
    texts = texts_of(sets)
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    expected = SentenceVectors([parse_source(each) for each in sources], str(tiny_bert))(distinct)
    assert [each.shape for each in read.vectors] == [(len(distinct), width) for width in (48, 3, 48)]
    for of_source, of_texts in zip(read.vectors, expected):  # before any PCA
        assert of_source.dtype == np.float32
        for row, pair in zip(read.pairs[:, :3], texts):
            np.testing.assert_array_equal(of_source[row], of_texts[[distinct.index(text) for text in pair]])
    for side, scores in zip((3, 4), scores_of(specs, sets)):
        np.testing.assert_array_equal(read.features[read.pairs[:, side]], scores)


def test_several_references():
    """Vectors are of the first that is there, features see all of them."""
    first = [None if segment % 3 == 0 else f"the reference {segment}" for segment in range(12)]
    sets = [judged(references=[first, judged().references[0]])]
    read = Reader(parse_features(["chrf"]), [parse_source("encoder:2")]).read(sets)
    texts = [text for row in texts_of(sets) for text in row]
    assert "the reference 1" in texts and judged().references[0][3] in texts
    [vectors] = SentenceVectors([parse_source("encoder")])(texts)
    found = read.vectors[0][read.pairs[:, :3].reshape(-1)]
    np.testing.assert_allclose(found, vectors, atol=1e-5)  # batched otherwise
    np.testing.assert_array_equal(read.features[read.pairs[:, 3]], scores_of(["chrf"], sets)[0])
    alone = scores_of(["chrf"], [judged(references=[judged().references[0]])])[0]
    assert (read.features[read.pairs[:, 3]] >= alone).all()


def test_features_are_of_the_sets_language():
    """German stems match where Porter's do not."""
    one = {"references": [["die Katzen schliefen"]], "preferences": np.array([[0, 0, 1]])}
    sets = [
        JudgedSet(f"to-{to}", ["A", "B"], 1, [["die Katze schlief"], ["x"]], target_lang=to, **one)
        for to in ("de", "en")
    ]
    read = Reader(parse_features(["meteor"]), []).read(sets)
    german, english = read.features[read.pairs[:, 3], 0]
    assert [german, english] == [scores_of(["meteor"], [each])[0][0, 0] for each in sets] and german > english


def test_sources_reach_features_that_read_them(monkeypatch):
    seen = []
    monkeypatch.setattr(reading, "feature_scores", lambda features, *texts: seen.append(texts) or np.zeros((3, 12, 1)))
    given, engine = judged(sources=[f"s{k}" for k in range(12)]), EngineOptions(batch_tokens=7)
    Reader(parse_features(["chrf"]), [], engine=engine).read([given])
    assert seen == [(given.hypotheses, given.references, given.sources, "cs", "en", engine)]


def test_a_set_in_two_parts_is_scored_once(computed):
    whole = judged()
    parts = [replace(whole, preferences=whole.preferences[rows]) for rows in (slice(0, 6), slice(6, None))]
    reader = Reader(parse_features(["chrf", "ter"]), [])
    both = [reader.read([part]) for part in parts]
    assert computed == ["chrf", "ter"]
    assert [len(read.pairs) for read in both] == [6, 4]
    for read, part in zip(both, parts):
        np.testing.assert_array_equal(read.features[read.pairs[:, 4]], scores_of(["chrf", "ter"], [part])[1])
    for other, new in ((judged(seed=2), 2), (judged(sources=["s"] * 12), 2), (judged(target="de"), 0)):
        before = len(computed)
        reader.read([other])
        assert len(computed) == before + new  # the language changes neither metric's settings


def test_the_cache_keeps_what_was_read(computed, tmp_path, words, monkeypatch):
    cache = tmp_path / "cache"

    def read(*sources, **engine):
        before, parsed = len(computed), [parse_source(each) for each in sources]
        reader = Reader(parse_features(["chrf"]), parsed, engine=EngineOptions(**engine), cache=cache)
        return reader.read([judged()]), computed[before:]

    first, calls = read(f"{words}:2", "encoder@1:4")
    assert calls == ["chrf", "vectors"] and len(list(cache.iterdir())) == 3
    again, calls = read(str(words), "encoder@1", batch_tokens=99)  # of which a PCA is no part
    assert calls == [] and len(list(cache.iterdir())) == 3
    for kept, new in zip([*first.vectors, first.features, first.pairs], [*again.vectors, again.features, again.pairs]):
        np.testing.assert_array_equal(kept, new)
    assert read(str(words), "encoder@1", dtype="bf16")[1] == ["chrf", "vectors"]
    for name in reading.VERSIONS:
        with monkeypatch.context() as patched:
            patched.setitem(reading.VERSIONS, name, "0.0")
            assert read(str(words))[1] == ["chrf", "vectors"], name
    assert read("encoder@1")[1] == ["vectors"]  # without the file, whose hash is in the key
    words.write_text(words.read_text().replace("the ", "The ", 1))
    assert read(str(words))[1] == ["vectors"]


def test_pairs_without_a_feature_are_left_out(monkeypatch, caplog):
    """Of outputs (system, segment) that have no score; pairs of segment 1 are (A, C), of 2 (A, B), of 5 (C, B)."""
    values = np.arange(3 * 12.0).reshape(3, 12, 1)
    for system, segment in ((0, 1), (1, 2), (1, 5), (2, 2), (0, 11)):  # the last two are of no pair
        values[system, segment] = NAN
    other = judged("whole", 6, 5)

    def scores(features, hypotheses, *rest):
        return values if len(hypotheses[0]) == 12 else np.full((3, 6, 1), 7.0)

    monkeypatch.setattr(reading, "feature_scores", scores)
    read = Reader(parse_features(["chrf"]), [parse_source("encoder")]).read([other, judged()])
    assert caplog.messages == ["toy: left out 3 pairs with an output that a feature did not score"]
    rows = [row for row in judged().preferences.tolist() if row[0] not in (1, 2, 5)]
    assert len(read.pairs) == 4 + len(rows) == 11
    for side, system in ((3, 1), (4, 2)):
        assert read.features[read.pairs[4:, side], 0].tolist() == [values[row[system], row[0], 0] for row in rows]
    kept = replace(judged(), preferences=np.array(rows))  # texts of other pairs are not read
    assert len(read.vectors[0]) == len({text for row in texts_of([other, kept]) for text in row})
    values[:] = NAN
    with pytest.raises(InputError, match="^toy: no pairs are left"):
        Reader(parse_features(["chrf"]), []).read([judged()])


# PCA, scaling, tau


def read_of(seed=3, texts=40, width=5, outputs=30, pairs=25) -> Readings:
    """Random numbers; the last five outputs are in no pair, and stand out."""
    draw = np.random.default_rng(seed)
    vectors = [
        draw.normal(size=(texts, width)).astype(np.float32) * np.arange(1, width + 1, dtype=np.float32),
        draw.normal(size=(texts, 2)).astype(np.float32),
    ]
    features = draw.normal(size=(outputs, 2)) * (1, 50)
    features[-5:] = [[900, -900]] * 3 + [[NAN, NAN]] * 2
    rows = [draw.integers(0, texts, (pairs, 3)), draw.integers(0, outputs - 5, (pairs, 2))]
    return Readings(vectors, features, np.concatenate(rows, axis=1).astype(np.int64))


def test_pca_and_scaling_are_fitted_on_the_training_data():
    read, shape = read_of(), Shape(3 + 2, 2)
    numbers = fitted(shape, [(5, 3), (2, None)], read, seed=4)
    centred = read.vectors[0].astype(np.float64) - read.vectors[0].mean(0, dtype=np.float64)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:3]
    directions *= np.sign(directions[np.arange(3), np.abs(directions).argmax(1)])[:, None]
    reduced = np.concatenate([centred @ directions.T, read.vectors[1]], axis=1)
    in_pairs = read.features[np.unique(read.pairs[:, 3:])]
    state = numbers.state_dict()
    for name, expected in {
        "mean_0": read.vectors[0].mean(0),
        "components_0": directions,
        "vector_low": reduced.min(0),
        "vector_high": reduced.max(0),
        "feature_low": in_pairs.min(0),
        "feature_high": in_pairs.max(0),
    }.items():
        np.testing.assert_allclose(state.pop(name).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert all(name.startswith("network.") for name in state)
    assert all(
        bool((state[name] == other).all())
        for name, other in fitted(shape, [(5, 3), (2, None)], read, 4).state_dict().items()
        if name in state
    )

    def scaled(values, low, high):
        return np.clip(2 * (values - low) / (high - low) - 1, -1, 1)

    for each in (read, read_of(9)):  # the second one is scaled by the first one's numbers
        found = prepared(numbers, each)
        vectors = np.concatenate([(each.vectors[0] - read.vectors[0].mean(0)) @ directions.T, each.vectors[1]], axis=1)
        np.testing.assert_allclose(found.texts, scaled(vectors, reduced.min(0), reduced.max(0)), atol=1e-5)
        wanted = np.nan_to_num(scaled(each.features, in_pairs.min(0), in_pairs.max(0)))
        np.testing.assert_allclose(found.outputs, wanted, atol=1e-5)
        assert found.texts.dtype == found.outputs.dtype == np.float32 and (found.pairs == each.pairs).all()
    assert found.texts.min() == -1 and found.texts.max() == 1 and (found.outputs[-2:] == 0).all()


def test_the_tau_of_each_feature():
    """Columns: three right and one wrong, (3 - 1) / 4; the same, less is better; one right, one wrong, two ties,
    (1 - 1 - 2) / 4 either way; all right."""
    features = np.array([[1, -1, 0, 5], [2, -2, 0, 6], [3, -3, 1, 7], [0, 0, 0, 4.0]])
    pairs = np.array([[0, 0, 0, *outputs] for outputs in ((1, 0), (2, 1), (2, 3), (0, 2))])
    read = Readings([], features, pairs)
    assert feature_taus(read) == [0.5, 0.5, 0.0, 0.5]
    assert feature_taus(read._replace(pairs=pairs[:3])) == [1.0, 1.0, (2 - 1) / 3, 1.0]
    # a feature that ties in every pair has none
    assert feature_taus(read._replace(pairs=pairs[:1])) == [1.0, 1.0, None, 1.0]


# The whole


def tau_of(folder, sets) -> float:
    """The strict tau of a folder's model on the preferences of some sets, by the product's own way of scoring."""
    model, texts = PairwiseModel(str(folder)), texts_of(sets)
    scores = scores_of(model.feature_specs, sets) if model.feature_specs else [np.zeros((len(texts), 0))] * 2
    better, worse, references = map(list, zip(*texts))
    first, second = (model.outputs(side, numbers) for side, numbers in zip((better, worse), scores))
    return strict_tau(model.probabilities(first, second, model.terms(references)) - 0.5)


def architecture(features=("chrf", "ter"), vectors=(), **more) -> Architecture:
    return Architecture(features, tuple(vectors), **{"hidden": 0, **more})


def learned(out, built=architecture(), recipe=RECIPE, training=None, **more):
    training = [judged(), judged("more", 9, 2)] if training is None else training
    return learn(built, recipe, training, [DEVELOPMENT], out=out, **{"engine": EngineOptions(quiet=True), **more})


@pytest.mark.parametrize(
    "features, vectors, more",
    [
        (("chrf", "ter"), (), {}),
        (("chrf:word_order=2",), ("encoder@1:3", "encoder"), {"hidden": 3}),
        ((), ("WORDS:2",), {"hidden": 2}),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (
                (("bleucomp",), ("encoder@0:4",), {"hidden": 2, "tied": True, "antisymmetric": True}),
                (("ter",), ("encoder@0,1", "WORDS:3"), {}),  # as many dimensions as there are
            )
        ),
    ],
)
def test_the_folder_is_what_was_trained(tmp_path, tiny_bert, words, features, vectors, more):
    """Its model gives the development tau that config.json says, from texts alone."""
    vectors = [each.replace("WORDS", str(words)) for each in vectors]
    trained = learned(tmp_path / "out", architecture(features, vectors, encoder=str(tiny_bert), **more))
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert trained.config == config
    best = max(check.tau for check in trained.checks)
    assert config["development"]["score"] == best == tau_of(tmp_path / "out", [DEVELOPMENT])
    [chosen] = [check for check in trained.checks if check.epoch == config["development"]["epoch"]]
    assert chosen.tau == best and len(trained.checks) == RECIPE.epochs
    reads = any(each.startswith("encoder") for each in vectors)
    assert (config["encoder"] == str(tiny_bert), config["encoder_ckpt"] is not None) == (reads, reads)
    for said, spec in zip(config["vectors"], vectors):
        of_words = "words.txt" in spec
        assert said["spec"] == os.path.basename(spec) and said["width"] == (3 if of_words else 48)
        assert said["path"] == (str(words) if of_words else None)
        assert said["sha256"] == (file_sha256(words) if of_words else None)
    assert [each["spec"] for each in config["features"]] == list(features)
    columns = [name for feature in parse_features(features) for name in feature.columns]
    if features == ("bleucomp",):  # all outputs are of one length here
        columns = [name for name in columns if "precision" in name or "matches" in name]
    assert list(trained.feature_taus) == list(config["development"]["features"]) == columns
    columns = [name for feature in parse_features(features) for name in feature.columns]
    assert config["training"]["pairs"] == 10 + 7 and config["development"]["pairs"] == 28
    width = sum(each["dimensions"] or each["width"] for each in config["vectors"])
    shape = {"vectors": width, "features": len(columns), "hidden": 0, "tied": False, "antisymmetric": False}
    assert config["network"] == {**shape, **more}


def test_what_config_says_beside(tmp_path):
    built = architecture(["meteor"])
    more = {"languages": ["de"], "notes": {"data": {"train": ["x"]}}}
    config = learned(tmp_path / "de", built, training=[judged(target="de")], **more).config
    assert config["languages"] == ["de"] and config["data"] == {"train": ["x"]}
    assert "stem:snowball-german" in config["features"][0]["signature"] and config["features"][0]["columns"] == 1
    assert config["training"] == {**vars(RECIPE), "pairs": 10}
    assert learned(tmp_path / "en", built).config["languages"] is None
    mixed = learned(tmp_path / "mixed", built, training=[judged(target="de"), judged("en")]).config
    assert "stem:porter" in mixed["features"][0]["signature"]


def stop(monkeypatch, after: int):
    """Send Ctrl-C in the epoch of this number."""
    check, seen = PairwiseTask.check, []

    def counting(*given):
        seen.append(1)
        if len(seen) == after:
            os.kill(os.getpid(), signal.SIGINT)
        return check(*given)

    monkeypatch.setattr(PairwiseTask, "check", counting)


def test_stopped_it_goes_on_bit_for_bit(tmp_path, monkeypatch, words):
    built = architecture(("chrf",), [str(words)], hidden=2)
    recipe = replace(RECIPE, cost="logistic+kendall", patience=None)
    whole = learned(tmp_path / "whole", built, recipe)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop(patched, 3)
        learned(tmp_path / "out", built, recipe)
    assert [each.name for each in (tmp_path / "out").iterdir()] == [STATE]
    # scaled alike, so that the development data are the same
    turned = replace(judged(), preferences=judged().preferences[::-1])
    for changed, what in (
        ({"recipe": replace(recipe, beta=3.0)}, "recipe"),
        ({"built": replace(built, antisymmetric=True)}, "network, features, vectors or languages"),
        ({"training": [turned, judged("more", 9, 2)]}, "training data"),
        ({"languages": ["en"]}, "network, features, vectors or languages"),
    ):
        with pytest.raises(InputError, match=f"{STATE} holds a stopped training with other {what}; "):
            learned(tmp_path / "out", **{"built": built, "recipe": recipe, **changed})
    with pytest.raises(InputError, match="development data"):
        learn(built, recipe, [judged(), judged("more", 9, 2)], [judged("dev", 9, 3)], out=tmp_path / "out")
    again = learned(tmp_path / "out", built, recipe)
    assert again.checks == whole.checks and again.config == whole.config
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert not (tmp_path / "out" / STATE).exists()


def test_what_cannot_be_trained(tmp_path, words):
    (tmp_path / "file").write_text("x")
    for built, more, says in (
        (architecture((), [f"{words}:4"], hidden=1), {}, "PCA of .+ gives at most 3 dimensions"),
        (architecture((), ["encoder:200"], hidden=1), {}, "PCA of 49 texts .+ at most 49 dim"),
        (architecture(), {"out": tmp_path / "file"}, "cannot write into .+file"),
    ):
        with pytest.raises(InputError, match=says):
            learned(**{"out": tmp_path / "out", "built": built, **more})
        assert not (tmp_path / "out").exists()


def test_the_digest_is_of_all_that_is_learned_from():
    read = read_of()
    whole = prepared(fitted(Shape(7, 2), [(5, None), (2, None)], read, 1), read)
    others = [replace(whole, **{name: getattr(whole, name)[::-1].copy()}) for name in ("texts", "outputs", "pairs")]
    empty = [replace(whole, outputs=np.zeros((rows, 0), np.float32)) for rows in (30, 31)]
    assert len({digest(each) for each in (whole, *others, *empty)}) == 6
    assert digest(whole) == digest(replace(whole, pairs=whole.pairs[::-1][::-1]))


def test_torch_has_its_threads_back(monkeypatch):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError), one_thread():
            assert torch.get_num_threads() == 1
            raise KeyError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
