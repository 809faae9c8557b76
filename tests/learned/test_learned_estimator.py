"""The learned networks as estimators, over tiny encoders of three families."""

import random
from itertools import product

import pytest
import torch
from learned_folders import random_network, write_learned
from selection import some, some_rows

from ctx_metrics import BERTR, SLIDE, release
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.engine.readout import WINDOW
from ctx_metrics.engine.store import EmbeddingStore
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.learned.estimator import LearnedEstimator, load_learned
from ctx_metrics.learned.metrics import ESIM, BiLSTM, BiLSTMAtt
from ctx_metrics.learned.networks import NETWORKS, LearnedNetwork, Shape
from ctx_metrics.models.estimator import Example

KINDS = list(NETWORKS)
METRICS = {"bilstm": BiLSTM, "bilstmatt": BiLSTMAtt, "esim": ESIM}
HYPOTHESES = [
    "the cat sat on the mat",
    "rain",
    "a dog ran home",
    "the old red bird and the slow river",
    "city light under the old tree",
    "the cat sat on the mat",
]
REFERENCES = ["a cat sat on a mat", "a song", "the dog ran fast", "the bird", "light", "home"]
EXAMPLES = [Example(*pair) for pair in zip(HYPOTHESES, REFERENCES)]
QUIET = EngineOptions(quiet=True)


@pytest.fixture(params=["tiny_bert", "tiny_roberta", "tiny_xlmr"])
def checkpoint(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def learned(tmp_path, tiny_bert):
    """Makes an estimator over the tiny BERT."""

    def make(kind="esim", options=QUIET, **fields) -> LearnedEstimator:
        folder = tmp_path / f"{kind}{len(list(tmp_path.iterdir()))}"
        return load_learned(kind, str(write_learned(folder, kind, tiny_bert, **fields)), options)

    return make


@pytest.fixture
def fresh():
    """No encoder of another test, whose readouts would be read too."""
    release()


@pytest.fixture
def sequences(monkeypatch) -> list[bytes]:
    """Every token sequence that goes through an encoder."""
    seen, forward = [], PackedEncoder.__call__

    def counted(self, given, *others):
        seen.extend(sequence.tobytes() for sequence in given)
        return forward(self, given, *others)

    monkeypatch.setattr(PackedEncoder, "__call__", counted)
    return seen


@pytest.fixture
def bilstm_runs(monkeypatch) -> list[int]:
    """The numbers of texts that go through networks' first BiLSTM together."""
    runs, contextual = [], LearnedNetwork.contextual

    def counted(self, mixed, lengths):
        runs.append(len(lengths))
        return contextual(self, mixed, lengths)

    monkeypatch.setattr(LearnedNetwork, "contextual", counted)
    return runs


def values(estimator, examples, **settings) -> list[float]:
    return [estimate.value for estimate in estimator.estimate(examples, "test", **settings)]


def hidden_layers(folder, texts, layers) -> list[torch.Tensor]:
    """transformers' hidden layers of each text's tokens without the specials: [tokens, layers, width]."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        found.append(torch.stack([states[layer][0, 1:-1] for layer in layers], 1))
    return found


LAYERS = [[1, 2, 3], [3, 0], [2]]


@pytest.mark.parametrize("kind, layers", some_rows(product(KINDS, LAYERS), zip(KINDS, LAYERS)))
def test_values_are_the_networks_over_transformers_states(tmp_path, checkpoint, kind, layers):
    shape = Shape(len(layers), 48, hidden=8, projection=6, feedforward=7)
    estimator = load_learned(kind, str(write_learned(tmp_path / kind, kind, checkpoint, shape, layers=layers)), QUIET)
    sides = []
    for texts in (HYPOTHESES, REFERENCES):
        states = hidden_layers(checkpoint, texts, layers)
        sides += [torch.cat(states), [len(each) for each in states]]
    with torch.no_grad():
        expected = random_network(kind, shape)(*sides)
    found = values(estimator, EXAMPLES)
    assert found == pytest.approx(expected.tolist(), abs=1e-5)
    assert max(found) - min(found) > 0.01


@pytest.mark.parametrize("kind", some(KINDS, ["esim"]))
def test_neither_batches_nor_order_change_a_value(learned, kind, monkeypatch):
    base = values(learned(kind), EXAMPLES)
    for seed, (tokens, pairs) in enumerate([(1, 1), (12, 2), (40, 3)]):
        monkeypatch.setattr("ctx_metrics.learned.estimator.PAIRS_A_BATCH", pairs)
        estimator = learned(kind, EngineOptions(batch_tokens=tokens, store_mb=1, quiet=True))
        if seed % 2:
            estimator.encoder.store = EmbeddingStore(0)
        order = random.Random(seed).sample(range(len(EXAMPLES)), len(EXAMPLES))
        found = values(estimator, [EXAMPLES[i] for i in order])
        assert found == pytest.approx([base[i] for i in order], abs=1e-5)
        assert values(estimator, EXAMPLES[2:3], unit=WINDOW) == pytest.approx(base[2:3], abs=1e-5)
    assert base[0] != base[5]  # the same hypothesis beside another reference


def test_empty_texts(learned):
    examples = [Example("", "a cat"), Example("a cat", " \u200b"), Example("", ""), Example("a cat", "a cat")]
    estimator = learned(empty_value=-2)
    found = estimator.estimate(examples, "test")
    assert [each.value for each in found[:3]] == [-2.0] * 3 == [estimator.empty_value] * 3
    assert [each.empty for each in found] == [True, True, True, False]
    assert found[3].value != -2 and found[3].value == pytest.approx(values(estimator, examples[3:])[0], abs=1e-6)
    assert values(estimator, examples[:1]) == [-2.0] and estimator.estimate([], "test") == []
    [states] = estimator.encoder.encode(estimator.encoder.tokenizer([""]), [estimator.readout])
    assert states[estimator.readout].shape == (0, 16)


def test_long_texts_are_cut_and_said(learned):
    estimator = learned(max_length=3)
    examples = [Example("the cat sat on", "a cat"), Example("a cat", "the cat sat on"), Example("a", "the cat sat")]
    found = estimator.estimate(examples, "test")
    assert [each.cut for each in found] == estimator.is_cut(examples) == [True, True, False]
    whole = learned(max_length=50)
    assert found[0].value == pytest.approx(values(whole, [Example("the cat sat", "a cat")])[0], abs=1e-5)
    assert found[1].value == pytest.approx(values(whole, [Example("a cat", "the cat sat")])[0], abs=1e-5)
    assert abs(found[0].value - values(whole, examples[:1])[0]) > 1e-5
    assert estimator.token_counts(examples) == [6, 6, 4] and estimator.special_tokens == 4
    assert estimator.limit == "3 tokens per text" and estimator.signature()["maxlen"] == 3
    assert learned(max_length=5000).max_length == 68  # the encoder's own bound


def test_the_source_in_the_references_place(learned):
    by_source = learned(inputs="mt+src")
    examples = [Example(h, "a bird", r) for h, r in zip(HYPOTHESES, REFERENCES)]
    assert values(by_source, examples) == pytest.approx(values(learned(), EXAMPLES), abs=1e-6)
    assert by_source.inputs == by_source.signature()["inputs"] == "mt+src"
    assert by_source.is_cut([Example("a", None, "a " * 30)]) == [True]
    assert by_source.token_counts([Example("a", "a b c d", "the cat")]) == [3]


def test_description(learned, tmp_path):
    estimator = learned("bilstmatt", languages=["en"])
    assert estimator.kind == "bilstmatt" and estimator.english_only
    assert not learned(languages=["en", "de"]).english_only and not learned(languages=None).english_only
    assert estimator.model.name == "bilstmatt0" and estimator.model.revision is None and len(estimator.model.ckpt) == 12
    assert set(estimator.signature()) == {"model", "rev", "ckpt", "inputs", "dtype", "maxlen"}


def test_one_pass_serves_bertr_and_all_three(tmp_path, tiny_bert, sequences, bilstm_runs, fresh):
    systems = [HYPOTHESES, HYPOTHESES[::-1], REFERENCES[:3] + HYPOTHESES[3:]]
    metrics = [BERTR([REFERENCES], systems, model=str(tiny_bert), engine=QUIET)]
    for seed, (kind, metric) in enumerate(METRICS.items()):
        folder = write_learned(tmp_path / kind, kind, tiny_bert, seed=seed, max_length=68)
        metrics.append(metric([REFERENCES], systems, model=str(folder), engine=QUIET))
    assert len({id(metrics[0].encoder), *(id(metric.estimator.encoder) for metric in metrics[1:])}) == 1
    scores = [[metric.corpus_score(system, None).score for system in systems] for metric in metrics]
    distinct = len({*HYPOTHESES, *REFERENCES})
    assert len(sequences) == len(set(sequences)) == distinct == 11
    assert sum(bilstm_runs) == 3 * distinct
    # the same as each by itself
    for metric, found in zip(metrics[1:], scores[1:]):
        alone = type(metric)([REFERENCES], model=metric.settings.model, engine=EngineOptions(store_mb=9, quiet=True))
        assert [alone.corpus_score(system, None).score for system in systems] == pytest.approx(found, abs=1e-3)


def test_models_of_the_same_weights_are_read_once(tmp_path, tiny_bert, learned, sequences, bilstm_runs, fresh):
    """However often a metric is made, its encoder reads no more of a text."""
    first, again, other = learned("esim"), learned("esim"), learned("esim", seed=1)
    assert first.readout == again.readout != other.readout and first.encoder.required_mixes == 2
    assert hash(first.readout) == hash(again.readout) and first.readout != (1, 2, 3)
    assert values(first, EXAMPLES) == values(again, EXAMPLES) != values(other, EXAMPLES)
    assert sum(bilstm_runs) == 2 * 11 and len(sequences) == 11


@pytest.mark.full
def test_nothing_is_read_of_windows_that_only_slide_asks_about(tmp_path, bilstm_runs, fresh):
    shape = Shape(2, 384, hidden=8, projection=6, feedforward=7)
    folder = write_learned(tmp_path / "esim", "esim", "embedded", shape, languages=["en"])
    esim = ESIM([REFERENCES], [HYPOTHESES], target_lang="en", model=str(folder), engine=QUIET)
    slide = SLIDE([REFERENCES], [HYPOTHESES], doc_ids=list("aaabbb"), window=3, target_lang="en", engine=QUIET)
    assert slide.estimator.encoder is esim.estimator.encoder
    windows = slide.corpus_score(HYPOTHESES, None).score
    assert bilstm_runs == []
    esim.corpus_score(HYPOTHESES, None)
    assert sum(bilstm_runs) == 11
    alone = SLIDE([REFERENCES], doc_ids=list("aaabbb"), window=3, target_lang="en", engine=EngineOptions(store_mb=9))
    assert alone.corpus_score(HYPOTHESES, None).score == pytest.approx(windows, abs=1e-3)
    # windows of one sentence are segments: other metrics' readouts are taken along
    bilstm_runs.clear()
    first = SLIDE([HYPOTHESES], doc_ids=list("aaabbb"), window=1, target_lang="en", engine=QUIET)
    first.corpus_score(["a red home", *HYPOTHESES[1:]], None)
    assert sum(bilstm_runs) == 1


def test_slide_reads_a_learned_model_of_windows(tmp_path, tiny_bert, bilstm_runs, fresh):
    folder = str(write_learned(tmp_path / "esim", "esim", tiny_bert, max_length=68))
    settings = {"model": folder, "engine": QUIET}
    slide = SLIDE(doc_ids=list("aaabbb"), window=3, **settings)
    found = slide.corpus_score(HYPOTHESES, [REFERENCES]).score
    joined = [[" ".join(side[i : i + 3]) for i in (0, 3)] for side in (HYPOTHESES, REFERENCES)]
    assert found == pytest.approx(ESIM(**settings).corpus_score(joined[0], [joined[1]]).score, abs=1e-3)
    assert sum(bilstm_runs) == 4  # and once only
