import numpy as np
import pytest
import torch

from ctx_metrics.engine.pairs import EncodedText
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models import regressor
from ctx_metrics.models.estimator import EMBEDDED_FOLDER, Example
from ctx_metrics.models.folder import load_network, read_config
from ctx_metrics.models.regressor import (
    FLOOR,
    AlignmentRegressor,
    RegressorNetwork,
    alignment_features,
    feature_names,
    overlap,
    pooled_vectors,
    predict,
)


def encoded(ids, vectors) -> EncodedText:
    """A text whose states are the same in layers 1 and 2, with special tokens of vector (0, 1) around it."""
    special = [0.0, 1.0]
    states = torch.tensor([special, *vectors, special])
    return EncodedText(np.array([0, *ids, 1]), {(1,): states, (2,): states})


def test_alignment_features_by_hand():
    # reference tokens at angles (1,0) and (0.6,0.8), hypothesis at (1,0) alone:
    # recall = (1 + 0.6)/2 = .8, precision = 1, F = 1.6/1.8
    # means over all tokens, the specials too: reference (3 + .6, .8 + 2)/4, hypothesis (1, 2)/3
    # unigrams: recall 1/2, precision 1; bigrams: the hypothesis has one token, so its unigrams against the reference's pairs
    reference, hypothesis = encoded([7, 8], [[3.0, 0.0], [0.6, 0.8]]), encoded([7], [[1.0, 0.0]])
    features = alignment_features(hypothesis, reference, (1, 2))
    layer = [0.8, 1.0, 1.6 / 1.8]
    cosine = (3.6 * 1 + 2.8 * 2) / ((3.6**2 + 2.8**2) ** 0.5 * 5**0.5)
    assert features == pytest.approx([*layer, *layer, cosine, 0.5, 1.0, 0.0, 0.0], abs=1e-6)
    assert len(features) == len(feature_names((1, 2)))


def test_overlap_clips_counts():
    assert overlap([1, 1, 1, 2], [1, 1, 3]) == 0.5


def test_pooled_vectors_are_scaled_means():
    text = encoded([5], [[3.0, 2.0]])
    expected = np.array([1.0, 4.0 / 3]) / np.linalg.norm([1.0, 4.0 / 3]) * np.sqrt(2)
    assert pooled_vectors(text, (1, 2)).numpy() == pytest.approx(np.stack([expected, expected]))


def random_network() -> RegressorNetwork:
    torch.manual_seed(5)
    network = RegressorNetwork(
        features=4, layers=2, width=3, alignment_hidden=5, pooled_hidden=6, pooled_dropout=0.5
    ).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, 0, 0.7)
    network.alignment.mean.copy_(torch.tensor([0.1, 0.2, 0.3, 0.4]))
    network.alignment.std.copy_(torch.tensor([0.5, 0.001, 1.0, 2.0]))
    return network


def plain_z(network: RegressorNetwork, features, hypothesis, reference) -> float:
    """The module's equations, one pair at a time, in float64."""
    p = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    x = np.clip((features - p["alignment.mean"]) / p["alignment.std"], -6, 6)
    a = p["alignment.linear.weight"][0] @ x + p["alignment.linear.bias"][0]
    a += p["alignment.mlp.3.weight"][0] @ np.tanh(p["alignment.mlp.0.weight"] @ x + p["alignment.mlp.0.bias"])
    weights = np.exp(p["pooled.mix"]) / np.exp(p["pooled.mix"]).sum()
    u, v = weights @ hypothesis, weights @ reference

    def g(u, v):
        joined = np.concatenate([u, v, u * v, np.abs(u - v)])
        return p["pooled.mlp.4.weight"][0] @ np.tanh(p["pooled.mlp.1.weight"] @ joined + p["pooled.mlp.1.bias"])

    return (a + g(u, v) - g(v, v) + p["pooled.bias"]) / 2


def test_forward_equals_the_equations():
    network, rng = random_network(), np.random.default_rng(1)
    features, hypotheses, references = rng.normal(size=(9, 4)), rng.normal(size=(9, 2, 3)), rng.normal(size=(9, 2, 3))
    with torch.no_grad():
        z = network(*(torch.tensor(part, dtype=torch.float32) for part in (features, hypotheses, references)))
    expected = [plain_z(network, *each) for each in zip(features, hypotheses, references)]
    assert z.tolist() == pytest.approx(expected, abs=1e-5)


def test_values_are_relative_to_identical_texts():
    network, rng = random_network(), np.random.default_rng(2)
    vectors = [torch.tensor(rng.normal(size=(2, 3)), dtype=torch.float32) for _ in range(3)]
    identical = plain_z(network, np.ones(4), vectors[0].double().numpy(), vectors[0].double().numpy())
    assert network.identical().item() == pytest.approx(identical, abs=1e-6)
    same, other = predict(
        network, [([1.0] * 4, vectors[0], vectors[0]), ([0.3, 0.2, 0.9, 1.0], vectors[1], vectors[2])]
    )
    z = plain_z(network, np.array([0.3, 0.2, 0.9, 1.0]), vectors[1].double().numpy(), vectors[2].double().numpy())
    assert same == pytest.approx(1.0, abs=1e-6)
    assert other == pytest.approx(np.clip((z + FLOOR) / (identical + FLOOR), 0, 1), abs=1e-6)


@pytest.fixture(scope="module")
def estimator() -> AlignmentRegressor:
    return AlignmentRegressor(EMBEDDED_FOLDER, EngineOptions())


def test_estimates(estimator):
    examples = [
        Example("The cat sat.", "The cat sat."),
        Example("", "The cat sat."),
        Example("The cat sat.", ""),
        Example("Money is tight.", "The cat sat."),
        Example("word " * 600, "The cat sat."),
    ]
    same, no_hypothesis, no_reference, other, long = estimator.estimate(examples, "test")
    assert same.value == pytest.approx(1, abs=1e-6) and not same.empty and not same.cut
    assert no_hypothesis[:3] == (0.0, False, True) and no_reference[:3] == (0.0, False, True)
    assert 0 <= other.value < 0.6 and long.cut and 0 <= long.value < 0.6
    # "the cat sat ." is four wordpieces on either side; what a forward would cut is counted too
    assert estimator.token_counts(examples[::4]) == [8, 604] and estimator.special_tokens == 4


def test_values_are_predicted_block_by_block(estimator, monkeypatch):
    """What is read of texts for the network's sake is not kept to the end."""
    examples = [Example(f"Number {i} is a cat.", f"The number {i} is no dog.") for i in range(40)]
    whole = [estimate.value for estimate in estimator.estimate(examples, "test")]
    predict, sizes = regressor.predict, []
    monkeypatch.setattr(regressor, "predict", lambda net, pairs: sizes.append(len(pairs)) or predict(net, pairs))
    small = AlignmentRegressor(EMBEDDED_FOLDER, EngineOptions(store_mb=1))
    assert [estimate.value for estimate in small.estimate(examples, "test")] == pytest.approx(whole, abs=1e-6)
    assert sum(sizes) == 40 and len(sizes) > 1


def test_shipped_model_is_small_and_described():
    files = list(EMBEDDED_FOLDER.iterdir())
    assert sum(path.stat().st_size for path in files) < 8_000_000
    assert {path.name for path in files} == {"config.json", "model.safetensors", "README.md"}
    config = read_config(EMBEDDED_FOLDER)
    network, _ = load_network(EMBEDDED_FOLDER, config, lambda: RegressorNetwork(**config["network"]))
    assert network.alignment.mean.shape == (len(feature_names((3, 4, 6))),)
