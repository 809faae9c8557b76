import logging

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from selection import some
from stand_in_gpu.varlen import attend

from ctx_metrics.engine import forward
from ctx_metrics.engine.checkpoint import read_config, read_weights
from ctx_metrics.engine.forward import (
    Linear,
    PackedEncoder,
    PrepackedLinear,
    choose_attention,
    grouped_attention,
    make_linear,
    padded_attention,
    prepacking_fault,
)
from ctx_metrics.engine.readout import PackedTokens, PooledMix, TokenLabels

FAMILIES = {
    "tiny_bert": "BertModel",
    "tiny_roberta": "RobertaModel",
    "tiny_xlmr": "XLMRobertaModel",
    "tiny_xlmr_xl": "XLMRobertaXLModel",
    "tiny_rembert": "RemBertModel",
    "tiny_deberta": "DebertaV2Model",
}
LAYERS = 3


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request):
    """Our network and transformers' of the same checkpoint."""
    import transformers

    folder = request.getfixturevalue(request.param)
    config = read_config(folder)
    tensors = read_weights(folder, config)
    network = PackedEncoder(config, tensors, torch.device("cpu"), torch.float32, layers=LAYERS)
    model_class = getattr(transformers, FAMILIES[request.param])
    settings = {} if request.param == "tiny_deberta" else {"add_pooling_layer": False}
    return network, model_class.from_pretrained(folder, **settings).eval()


def use(way, network, monkeypatch):
    """Have a network attend in some way, with the rows that this way is given."""
    monkeypatch.setattr(network, "attention", way)
    monkeypatch.setattr(network, "rounded", way is grouped_attention)


def read(network, sequences, readouts, *more):
    """What is read of each sequence, by readout."""
    found = network(sequences, readouts, *more).wait()
    return {key: [rows.of_text(number) for number in range(len(sequences))] for key, rows in found.items()}


def states(network, sequences, mix):
    """Hidden states of all sequences, [tokens, width]."""
    return torch.cat(read(network, sequences, [mix])[mix])


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


@pytest.mark.parametrize("way", [grouped_attention, padded_attention])
@pytest.mark.parametrize("lengths", [[9, 9, 9], [12, 12, 5, 5, 5, 2, 1], [4, 9, 4]], ids=str)
def test_every_layer_is_that_of_transformers(pair, lengths, way, monkeypatch):
    network, model = pair
    use(way, network, monkeypatch)
    sequences = some_sequences(lengths)
    theirs = their_layers(model, sequences)
    ours = read(network, sequences, [(k,) for k in range(LAYERS + 1)])
    for k in range(LAYERS + 1):
        assert gap(torch.cat(ours[k,]), theirs[k]) < 2e-5


@pytest.mark.parametrize("way", some([grouped_attention, padded_attention], [grouped_attention]))
def test_every_length_up_to_the_longest(pair, way, monkeypatch):
    network, model = pair
    use(way, network, monkeypatch)
    sequences = some_sequences(range(network.max_tokens, 0, -1))
    assert len(sequences[0]) >= 70
    assert gap(states(network, sequences, (LAYERS,)), their_layers(model, sequences)[LAYERS]) < 2e-5


def test_mixes_are_means_of_layers(pair):
    network, model = pair
    sequences = some_sequences([8, 3])
    theirs = their_layers(model, sequences)
    mixes = [(1, 2, 3), (0, 3), (2,), (1, 2)]
    ours = read(network, sequences, mixes)
    assert ours.keys() == set(mixes)
    for mix in mixes:
        assert gap(torch.cat(ours[mix]), theirs[list(mix)].mean(dim=0)) < 2e-5


def test_the_fixtures_weights_make_context_matter(pair):
    """Else the parity tests would say little: a token's vector must change with its neighbours."""
    network, _ = pair
    one, other = some_sequences([6, 6])
    other = np.concatenate([one[:1], other[1:]])
    (first, *_), (second, *_) = read(network, [one, other], [(LAYERS,)])[LAYERS,]
    assert torch.cosine_similarity(first, second, dim=0) < 0.98
    assert (network.first_position == 0) == (network.max_tokens == 70)


@pytest.mark.parametrize("way", [grouped_attention, padded_attention])
@pytest.mark.parametrize("split", [False, True])
def test_the_last_layer_of_first_tokens_alone(pair, way, split, monkeypatch, request):
    network, model = pair
    if split:
        folder = request.getfixturevalue(request.node.callspec.params["pair"])
        config = read_config(folder)
        tensors = read_weights(folder, config)
        network = PackedEncoder(config, tensors, torch.device("cpu"), torch.float32, layers=LAYERS, first_only=True)
    use(way, network, monkeypatch)
    sequences = some_sequences([12, 12, 5, 5, 1])
    theirs = their_layers(model, sequences)[:, [0, 12, 24, 29, 34]]
    readout = PooledMix((0.5, 0.0, -1.0, 2.0), "cls")
    ours = read(network, sequences, [readout])[readout]
    assert gap(torch.stack(ours), 0.5 * theirs[0] - theirs[2] + 2 * theirs[3]) < 5e-5
    # other readers of the last layer need all its tokens, and change nothing
    labels = TokenLabels(LAYERS, torch.eye(network.width)[:3], torch.ones(3))
    both = read(network, sequences, [readout, labels])
    assert gap(torch.stack(both[readout]), torch.stack(ours)) < 2e-5
    assert gap(torch.cat(both[labels]), their_layers(model, sequences)[LAYERS][:, :3] + 1) < 2e-5


def test_layers_without_weight_are_not_run(pair, monkeypatch):
    network, _ = pair
    run = []
    monkeypatch.setattr(
        network, "layers", [lambda *a, k=k, f=f: run.append(k) or f(*a) for k, f in enumerate(network.layers)]
    )
    readout = PooledMix((0.3, 0.7, 0.0, 0.0), "avg")
    read(network, some_sequences([4, 2]), [readout])
    assert run == [0] and readout.last == 1


@pytest.mark.parametrize("pooling", ["avg", "max", "cls"])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_pooled_mixes_by_hand(pair, pooling, layer_norm):
    network, model = pair
    weights = (0.1, 0.0, -0.4, 0.8)
    sequences = some_sequences([7, 7, 3])
    theirs, begin, expected = their_layers(model, sequences).double(), 0, []
    for sequence in sequences:
        layers = theirs[:, begin : begin + len(sequence)]
        begin += len(sequence)
        if layer_norm:
            flat = layers.flatten(1)
            mean, variance = flat.mean(1)[:, None, None], flat.var(1, correction=0)[:, None, None]
            layers = (layers - mean) / (variance + 1e-12).sqrt()
        mixed = sum(weight * layer for weight, layer in zip(weights, layers))
        expected.append({"avg": mixed.mean(0), "max": mixed.amax(0), "cls": mixed[0]}[pooling])
    readout = PooledMix(weights, pooling, layer_norm)
    assert gap(torch.stack(read(network, sequences, [readout])[readout]), torch.stack(expected)) < 5e-5


def test_padding_in_the_text_and_context_are_not_pooled(pair):
    network, _ = pair
    sequences = [np.array([5, 9, 3, 7, 8, 3], np.int32), np.array([5, 6, 3, 6, 3, 3], np.int32)]
    tokens = read(network, sequences, [(LAYERS,)])[LAYERS,]
    weights = (0.0, 0.0, 0.0, 1.0)
    # separator 3: the first token, and what follows the last but one separator; 7 and 6 are taken for padding
    readout = PooledMix(weights, "avg", pad=7, separator=3)
    first, second = read(network, sequences, [readout])[readout]
    assert gap(first, (tokens[0][0] + tokens[0][4] + tokens[0][5]) / 4) < 1e-5
    assert gap(second, (tokens[1][0] + tokens[1][5]) / 2) < 1e-5
    readout = PooledMix(weights, "max", pad=6)
    assert gap(read(network, sequences, [readout])[readout][1], tokens[1][[0, 2, 4, 5]].amax(0)) < 1e-6


def test_types_of_the_second_text(tiny_bert):
    from transformers import BertModel

    config = read_config(tiny_bert)
    network = PackedEncoder(config, read_weights(tiny_bert, config), torch.device("cpu"), torch.float32, layers=LAYERS)
    model = BertModel.from_pretrained(tiny_bert, add_pooling_layer=False).eval()
    sequences = some_sequences([6, 6, 4])
    ours = read(network, sequences, [(LAYERS,)], [4, None, 1])[LAYERS,]
    for sequence, second, found in zip(sequences, (4, 6, 1), ours):
        types = (torch.arange(len(sequence)) >= second).long()[None]
        with torch.no_grad():
            theirs = model(torch.tensor(sequence.astype(np.int64))[None], token_type_ids=types).last_hidden_state[0]
        assert gap(found, theirs) < 2e-5


def test_padding_tokens_have_no_place_of_their_own(tiny_xlmr):
    """XLM-R counts positions without padding, also where a text holds the padding token literally."""
    from transformers import XLMRobertaModel

    config = read_config(tiny_xlmr)
    network = PackedEncoder(config, read_weights(tiny_xlmr, config), torch.device("cpu"), torch.float32, layers=LAYERS)
    model = XLMRobertaModel.from_pretrained(tiny_xlmr, add_pooling_layer=False).eval()
    ids = [0, 8, 1, 9, 1, 1, 10, 2]
    with torch.no_grad():
        theirs = model(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))).last_hidden_state[0]
    assert gap(states(network, [np.array(ids, np.int32)], (LAYERS,)), theirs) < 2e-5


def test_all_attentions_agree():
    packed = PackedTokens(some_sequences([6, 6, 4, 1]), 17, torch.device("cpu"))
    qkv = torch.randn(packed.total, 3, 2, 8, generator=torch.Generator().manual_seed(2))
    q, kv = qkv[:, 0], qkv[:, 1:]
    grouped, padded = grouped_attention(q, kv, packed, False), padded_attention(q, kv, packed, False)
    of_third, keys, values = qkv[12:16].double().permute(1, 2, 0, 3)
    by_hand = ((of_third @ keys.mT / 8**0.5).softmax(-1) @ values).transpose(0, 1)
    assert (grouped - padded).abs().max() < 1e-6
    assert (grouped[12:16] - by_hand).abs().max() < 1e-6
    firsts = [0, 6, 12, 16]
    for way in (grouped_attention, padded_attention):
        assert (way(q[firsts], kv, packed, True) - grouped[firsts]).abs().max() < 1e-6


def test_variable_length_attention_is_asked_as_torch_wants_it(monkeypatch):
    """The kernel runs on CUDA alone; here a stand-in with its arguments' meaning takes its place."""
    from torch.nn.attention import varlen

    def stand_in(q, k, v, ends_q, ends_k, most_q, most_k):
        assert ends_q.dtype == ends_k.dtype == torch.int32 and k.is_contiguous() and v.is_contiguous()
        return attend(q, k, v, ends_q, ends_k, most_q, most_k)

    monkeypatch.setattr(varlen, "varlen_attn", stand_in)
    packed = PackedTokens(some_sequences([6, 6, 4, 1]), 17, torch.device("cpu"))
    qkv = torch.randn(packed.total, 3, 2, 8, generator=torch.Generator().manual_seed(2))
    q, kv, firsts = qkv[:, 0], qkv[:, 1:], [0, 6, 12, 16]
    found = forward.varlen_attention(q, kv, packed, False)
    assert (found - padded_attention(q, kv, packed, False)).abs().max() < 1e-6
    assert (forward.varlen_attention(q[firsts], kv, packed, True) - found[firsts]).abs().max() < 1e-6


def test_choice_of_attention(monkeypatch):
    cuda, half, full = torch.device("cuda"), torch.bfloat16, torch.float32
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert choose_attention(torch.device("cpu"), full, 64) is grouped_attention
    assert choose_attention(cuda, half, 64) is forward.varlen_attention
    assert choose_attention(cuda, full, 64) is padded_attention
    assert choose_attention(cuda, half, 512) is choose_attention(cuda, half, 312 // 12) is padded_attention
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert choose_attention(cuda, half, 64) is padded_attention


@pytest.fixture
def parts():
    """Weight, bias and input of 48 -> 80."""
    generator = torch.Generator().manual_seed(4)
    return tuple(torch.randn(*shape, generator=generator) for shape in ((80, 48), (80,), (37, 48)))


@pytest.fixture
def fresh_self_test():
    prepacking_fault.cache_clear()
    yield
    prepacking_fault.cache_clear()


@pytest.mark.parametrize("kind", [Linear, PrepackedLinear])
def test_both_paths_give_the_product_and_both_forms_of_gelu(kind, parts):
    if kind is PrepackedLinear and prepacking_fault():
        pytest.skip(f"no prepacking here: {prepacking_fault()}")
    weight, bias, x = parts
    made = kind(weight, bias)
    for rows in (1, 5, 37):
        product = x[:rows].double() @ weight.double().T + bias.double()
        exact = product * 0.5 * (1 + torch.erf(product / 2**0.5))
        assert (made(x[:rows]) - product).abs().max() < 1e-5
        assert (made.gelu(x[:rows], "none") - exact).abs().max() < 1e-5
        tanh = product * 0.5 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (product + 0.044715 * product**3)))
        assert (made.gelu(x[:rows], "tanh") - tanh).abs().max() < 1e-5


def test_weights_that_are_views_are_packed_right(parts):
    weight, bias, x = parts
    assert (make_linear([weight.T.contiguous().T], [bias])(x) - F.linear(x, weight, bias)).abs().max() < 1e-5


def test_only_fp32_takes_prepacking_and_only_where_it_works(parts, monkeypatch):
    for fault, kind in ((None, PrepackedLinear), ("a fault", Linear)):
        if fault is None and prepacking_fault():
            continue
        monkeypatch.setattr(forward, "prepacking_fault", lambda fault=fault: fault)
        assert type(make_linear(*([part] for part in parts[:2]))) is kind
        assert type(make_linear(*([part.bfloat16()] for part in parts[:2]))) is Linear


@pytest.mark.parametrize(
    "product, gelu",
    [
        (F.linear, lambda linear, x, form: F.gelu(linear(x), approximate="tanh")),
        (F.linear, lambda linear, x, form: F.gelu(linear(x))),
        (lambda x, *layer: F.linear(x, *layer) * float("nan"), Linear.gelu),
    ],
)
def test_an_op_that_computes_something_else_is_not_used(parts, monkeypatch, fresh_self_test, caplog, product, gelu):
    monkeypatch.setattr(PrepackedLinear, "__init__", Linear.__init__)
    monkeypatch.setattr(PrepackedLinear, "__call__", lambda self, x: product(x, self.weight, self.bias))
    monkeypatch.setattr(PrepackedLinear, "gelu", gelu)
    weight, bias, x = parts
    with caplog.at_level(logging.DEBUG, "ctx_metrics"):
        made = make_linear([weight], [bias])
    assert type(made) is Linear
    assert "differs from F.linear by" in prepacking_fault() and prepacking_fault() in caplog.text
    assert torch.equal(made(x), F.linear(x, weight, bias))


@pytest.mark.parametrize("error, built", [(AttributeError, True), (RuntimeError, True), (RuntimeError, False)])
def test_an_op_that_fails_or_lacks_is_not_used(error, built, parts, monkeypatch, fresh_self_test):
    def broken(self, weight, bias):
        raise error("gone\nfor good")

    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: built)
    monkeypatch.setattr(PrepackedLinear, "__init__", broken)
    assert type(make_linear(*([part] for part in parts[:2]))) is Linear
    assert prepacking_fault() == (f"{error.__name__}: gone" if built else "torch was built without oneDNN")
