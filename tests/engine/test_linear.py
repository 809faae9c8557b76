import logging

import pytest
import torch
import torch.nn.functional as F

from ctx_metrics.engine import forward
from ctx_metrics.engine.forward import Linear, PrepackedLinear, make_linear, prepacking_fault


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
def test_both_paths_give_the_product_and_the_exact_gelu(kind, parts):
    if kind is PrepackedLinear and prepacking_fault():
        pytest.skip(f"no prepacking here: {prepacking_fault()}")
    weight, bias, x = parts
    made = kind(weight, bias)
    for rows in (1, 5, 37):
        product = x[:rows].double() @ weight.double().T + bias.double()
        exact = product * 0.5 * (1 + torch.erf(product / 2**0.5))
        assert (made(x[:rows]) - product).abs().max() < 1e-5
        assert (made.gelu(x[:rows]) - exact).abs().max() < 1e-5


def test_weights_that_are_views_are_packed_right(parts):
    weight, bias, x = parts
    assert (make_linear([weight.T.contiguous().T], [bias])(x) - F.linear(x, weight, bias)).abs().max() < 1e-5


def test_fp32_on_cpu_takes_prepacking_where_it_works(parts, monkeypatch):
    for fault, kind in ((None, PrepackedLinear), ("a fault", Linear)):
        if fault is None and prepacking_fault():
            continue
        monkeypatch.setattr(forward, "prepacking_fault", lambda fault=fault: fault)
        assert type(make_linear(*([part] for part in parts[:2]))) is kind


def test_half_precision_takes_the_plain_path(parts):
    made = make_linear([parts[0].bfloat16()], [parts[1].bfloat16()])
    assert type(made) is Linear and made(parts[2].bfloat16()).dtype == torch.bfloat16


def test_an_op_that_computes_something_else_is_not_used(parts, monkeypatch, fresh_self_test, caplog):
    monkeypatch.setattr(PrepackedLinear, "__init__", Linear.__init__)
    monkeypatch.setattr(PrepackedLinear, "__call__", Linear.__call__)
    monkeypatch.setattr(PrepackedLinear, "gelu", lambda self, x: F.gelu(self(x), approximate="tanh"))
    weight, bias, x = parts
    with caplog.at_level(logging.DEBUG, "ctx_metrics"):
        made = make_linear([weight], [bias])
    assert type(made) is Linear
    assert "differs from F.linear by" in prepacking_fault() and prepacking_fault() in caplog.text
    assert torch.equal(made(x), F.linear(x, weight, bias))


def test_an_op_that_gives_nan_is_not_used(monkeypatch, fresh_self_test):
    monkeypatch.setattr(PrepackedLinear, "__init__", Linear.__init__)
    monkeypatch.setattr(PrepackedLinear, "__call__", lambda self, x: F.linear(x, self.weight, self.bias) * float("nan"))
    assert "differs" in prepacking_fault()


@pytest.mark.parametrize(
    "error", [RuntimeError("refused\nat length"), AttributeError("gone"), NotImplementedError("no")]
)
def test_an_op_that_fails_is_not_used(error, parts, monkeypatch, fresh_self_test):
    def broken(self, weight, bias):
        raise error

    monkeypatch.setattr(PrepackedLinear, "__init__", broken)
    assert type(make_linear(*([part] for part in parts[:2]))) is Linear
    if torch.backends.mkldnn.is_available():
        assert prepacking_fault() == f"{type(error).__name__}: {str(error).splitlines()[0]}"


def test_torch_without_onednn(monkeypatch, fresh_self_test):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert prepacking_fault() == "torch was built without oneDNN"
