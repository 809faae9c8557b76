"""The English encoder, cut after the attention of its first layer, beside transformers."""

import pytest
import torch
from transformers import AutoModel

from ctx_metrics.align.alignment import Aligner
from ctx_metrics.align.first_attention import FirstAttention
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.models.hub import EMBEDDED, resolve

TEXTS = ["It rained all day.", "We stayed at home, of course, and played cards.", "x", ""]


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(FirstAttention(resolve(EMBEDDED).folder))


def test_states_are_those_after_the_first_attention_and_its_norm(encoder):
    model = AutoModel.from_pretrained(resolve(EMBEDDED).folder).eval()
    after: list[torch.Tensor] = []
    model.encoder.layer[0].attention.register_forward_hook(lambda module, given, found: after.append(found[0]))
    tokens = encoder.tokenizer(TEXTS)
    with torch.inference_mode():
        for each in tokens:
            model(torch.tensor([each.ids.tolist()]))
    for own, expected in zip(encoder.encode(tokens, [(1,)]), after, strict=True):
        torch.testing.assert_close(own[1,], expected.reshape(own[1,].shape), atol=2e-5, rtol=0)


def test_it_has_no_other_layer_and_no_inner_width(encoder):
    whole = resolve(EMBEDDED).folder
    assert TextEncoder(whole).layers > encoder.layers == 1
    [layer] = encoder.load([(1,)]).layers
    assert layer.up.bias.shape == (1,)


@pytest.mark.parametrize("language, across, cut", [("en", False, True), ("de", False, False), ("en", True, False)])
def test_only_references_in_english_are_read_with_it(language, across, cut):
    assert isinstance(Aligner(language, across=across).encoder.checkpoint, FirstAttention) == cut
