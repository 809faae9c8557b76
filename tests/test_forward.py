import numpy as np
import pytest
import torch

from ctx_metrics.engine.checkpoint import read_config, read_weights
from ctx_metrics.engine.forward import PackedEncoder, grouped_attention, padded_attention

FAMILIES = {"tiny_bert": "BertModel", "tiny_roberta": "RobertaModel", "tiny_xlmr": "XLMRobertaModel"}
LAYERS = 3


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request):
    """Our network and transformers' of the same checkpoint."""
    import transformers

    folder = request.getfixturevalue(request.param)
    config = read_config(folder)
    tensors = read_weights(folder, config["model_type"])
    network = PackedEncoder(config, tensors, torch.device("cpu"), torch.float32, LAYERS)
    model_class = getattr(transformers, FAMILIES[request.param])
    return network, model_class.from_pretrained(folder, add_pooling_layer=False).eval()


def some_sequences(lengths):
    """Random ids, from 5 so that none is a special token."""
    random = np.random.default_rng(3)
    return [random.integers(5, 60, length).astype(np.int32) for length in lengths]


def their_layers(model, sequences):
    """Hidden states [layers + 1, tokens, width], each sequence run alone."""
    with torch.no_grad():
        runs = [
            model(torch.tensor(sequence.astype(np.int64))[None], output_hidden_states=True).hidden_states
            for sequence in sequences
        ]
    return torch.cat([torch.stack([layer[0] for layer in run]) for run in runs], dim=1)


def gap(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == torch.float32
    return (ours - theirs).abs().max().item()


@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
@pytest.mark.parametrize("lengths", [[1], [7], [9, 9, 9], [12, 12, 5, 5, 5, 2, 1], [4, 9, 4]], ids=str)
def test_every_layer_is_that_of_transformers(pair, lengths, padded, monkeypatch):
    network, model = pair
    monkeypatch.setattr(network, "padded", padded)
    sequences = some_sequences(lengths)
    theirs = their_layers(model, sequences)
    ours = network(sequences, [(k,) for k in range(LAYERS + 1)])
    for k in range(LAYERS + 1):
        assert gap(ours[k,], theirs[k]) < 2e-5


@pytest.mark.parametrize("padded", [False, True], ids=["packed", "padded"])
def test_every_length_up_to_the_longest(pair, padded, monkeypatch):
    network, model = pair
    monkeypatch.setattr(network, "padded", padded)
    sequences = some_sequences(range(network.max_tokens, 0, -1))
    assert len(sequences[0]) >= 70
    ours = network(sequences, [(LAYERS,)])[LAYERS,]
    assert gap(ours, their_layers(model, sequences)[LAYERS]) < 2e-5


def test_mixes_are_means_of_layers(pair):
    network, model = pair
    sequences = some_sequences([8, 3])
    theirs = their_layers(model, sequences)
    mixes = [(1, 2, 3), (0, 3), (2,), (1, 2)]
    ours = network(sequences, mixes)
    assert ours.keys() == set(mixes)
    for mix in mixes:
        assert gap(ours[mix], theirs[list(mix)].mean(dim=0)) < 2e-5


def test_asking_for_more_mixes_changes_none(pair):
    network, _ = pair
    sequences = some_sequences([8, 3])
    alone = network(sequences, [(1,)])[1,]
    assert torch.equal(alone, network(sequences, [(1,), (1, 2), (0, 1, 3)])[1,])


def test_the_fixtures_weights_make_context_matter(pair):
    """Else the parity tests would say little: a token's vector must change with its neighbours."""
    network, _ = pair
    one, other = some_sequences([6, 6])
    other = np.concatenate([one[:1], other[1:]])
    states = network([one, other], [(LAYERS,)])[LAYERS,]
    assert torch.cosine_similarity(states[0], states[6], dim=0) < 0.98
    assert (network.first_position == 0) == (network.max_tokens == 70)


def test_both_attentions_agree():
    lengths = [6, 6, 4, 1]
    qkv = torch.randn(sum(lengths), 3, 2, 8, generator=torch.Generator().manual_seed(2))
    grouped, padded = grouped_attention(qkv, lengths), padded_attention(qkv, lengths)
    q, k, v = qkv[12:16].double().permute(1, 2, 0, 3)
    by_hand = ((q @ k.mT / 8**0.5).softmax(-1) @ v).transpose(0, 1)
    assert (grouped - padded).abs().max() < 1e-6
    assert (grouped[12:16] - by_hand).abs().max() < 1e-6
