"""The trained networks of Mathur, Baldwin and Cohn (2019): BiLSTM, BiLSTM with attention, ESIM.

They read frozen contextual embeddings of two texts, the hypothesis and its partner (the reference or the source), each
encoded separately. The texts of a batch are concatenated without padding; padding that is added later is masked. States
and scores have the network's dtype, fp32 by default; masks are bool.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..engine.device import send

POOLINGS = ("both", "avg", "max")
CPU = torch.device("cpu")


class Side(NamedTuple):
    """The texts of one side, hypotheses or partners.

    states     [texts, tokens, width]
    mask       bool [texts, tokens], True at tokens
    lengths    number of tokens of each text, on the CPU
    """

    states: torch.Tensor
    mask: torch.Tensor
    lengths: Sequence[int]


@dataclass(frozen=True)
class Shape:
    """The sizes of a network; the defaults are the paper's (its released configurations).

    hidden         width of a BiLSTM in each direction
    projection     width between ESIM's comparison and its second BiLSTM
    feedforward    width of the regressor's hidden layer
    pooling        "both" averages and maxima over tokens, or one of them: "avg", "max"
    dropout        rate in training, for the embeddings (one mask per text) and in the regressor
    """

    layers: int
    width: int
    hidden: int = 300
    projection: int = 300
    feedforward: int = 300
    pooling: str = "both"
    dropout: float = 0.5


class ScalarMix(nn.Module):
    """gamma * sum_k softmax(w)_k h_k over layers; initially their plain mean."""

    def __init__(self, layers: int):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def coefficients(self) -> torch.Tensor:
        return self.gamma * self.weights.softmax(0)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Mix states [tokens, layers, width] into [tokens, width]."""
        return torch.einsum("tlw,l->tw", states, self.coefficients())


class LearnedNetwork(nn.Module):
    """Base class of the networks: scalar mix, variational dropout, one BiLSTM for both texts, and a final regressor.

    compared    width of the regressor's input as a multiple of the width of a text's pooled states
    """

    compared = 4

    def __init__(self, shape: Shape):
        super().__init__()
        if shape.pooling not in POOLINGS:
            raise ValueError(f"pooling {shape.pooling!r} is not one of {', '.join(POOLINGS)}")
        self.shape = shape
        self.mix = ScalarMix(shape.layers)
        self.encoder = bilstm(shape.width, shape.hidden)
        self.regressor = nn.Sequential(
            nn.Dropout(shape.dropout),
            linear(self.compared * pooled_width(shape), shape.feedforward),
            nn.ReLU(),
            nn.Dropout(shape.dropout),
            linear(shape.feedforward, 1),
        )

    def forward(
        self,
        hypotheses: torch.Tensor,
        hypothesis_lengths: Sequence[int],
        partners: torch.Tensor,
        partner_lengths: Sequence[int],
    ) -> torch.Tensor:
        """Return scores [texts] for states [tokens, layers, width] of concatenated texts of these lengths, at least 1."""
        texts = len(hypothesis_lengths)
        mixed = torch.cat([self.mix(hypotheses), self.mix(partners)])
        states = self.contextual(mixed, [*hypothesis_lengths, *partner_lengths]).split(texts)
        sides = [
            Side(of_side[:, : max(lengths)], token_mask(lengths, of_side.device), lengths)
            for of_side, lengths in zip(states, (hypothesis_lengths, partner_lengths), strict=True)
        ]
        return self.compare(*sides)

    def outputs(self, *inputs: Any) -> list[torch.Tensor]:
        """Return the predictions that training fits to human scores: only the score of `forward`, [texts]."""
        return [self(*inputs)]

    def contextual(self, mixed: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the BiLSTM states of mixed embeddings [tokens, width]: [texts, longest, 2 * hidden], padded with 0."""
        padded = mixed.new_zeros(len(lengths) * max(lengths), mixed.shape[1])
        padded = padded.index_copy(0, token_slots(lengths, mixed.device), mixed).view(len(lengths), max(lengths), -1)
        return run_bilstm(self.encoder, self._variational(padded), lengths)

    @abstractmethod
    def compare(self, hypothesis: Side, partner: Side) -> torch.Tensor:
        """Return scores [texts] from both sides' BiLSTM states, whose width is 2 * hidden."""

    def _variational(self, padded: torch.Tensor) -> torch.Tensor:
        """Apply dropout to the same dimensions at every token of a text (Gal and Ghahramani 2016)."""
        kept = nn.functional.dropout(
            torch.ones_like(padded[:, :1]), self.shape.dropout, training=self.training and self.shape.dropout > 0
        )
        return padded * kept

    def _pooled(self, states: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
        """Return averages or maxima of states over tokens, or both, as the shape says: each [texts, width]."""
        mask = mask[:, :, None]
        pooled = {
            "avg": states.masked_fill(~mask, 0).sum(1) / mask.sum(1),
            "max": states.masked_fill(~mask, -torch.inf).amax(1),
        }
        return [pooled[kind] for kind in ("avg", "max") if self.shape.pooling in (kind, "both")]

    def _regressed(self, compared: list[torch.Tensor]) -> torch.Tensor:
        return self.regressor(torch.cat(compared, 1))[:, 0]


class BiLSTM(LearnedNetwork):
    """Pools both texts' BiLSTM states and compares them as vectors (paper, equations 3 to 6).

    v_t = [max h_t; avg h_t], m = [v_t; v_r; v_t * v_r; v_t - v_r], score = regressor(m).
    """

    def compare(self, hypothesis: Side, partner: Side) -> torch.Tensor:
        v_t, v_r = (torch.cat(self._pooled(side.states, side.mask)[::-1], 1) for side in (hypothesis, partner))
        return self._regressed([v_t, v_r, v_t * v_r, v_t - v_r])


class BiLSTMAttention(LearnedNetwork):
    """Replaces each token's state by attention over the other text, then pools and compares (paper, section 3.2).

    For each kind of pooling, v = [r, t, r - t, r * t], where r pools sum_j softmax_j(<h_r_i, h_t_j>) h_t_j over i, and t
    the same with the sides swapped.
    """

    def compare(self, hypothesis: Side, partner: Side) -> torch.Tensor:
        of_hypothesis, of_partner = attended(hypothesis, partner)
        compared = []
        sides = self._pooled(of_hypothesis, hypothesis.mask), self._pooled(of_partner, partner.mask)
        for t, r in zip(*sides, strict=True):
            compared += [r, t, r - t, r * t]
        return self._regressed(compared)


class ESIM(LearnedNetwork):
    """Compares tokens with attention over the other text, by a second BiLSTM (Chen et al. 2017; section 3.2).

    m_i = ReLU(W [h_i; a_i; h_i - a_i; h_i * a_i] + b). The averages and maxima of each side's BiLSTM states over m give
    v = [r_avg, r_max, t_avg, t_max].
    """

    compared = 2

    def __init__(self, shape: Shape):
        super().__init__(shape)
        self.projection = linear(8 * shape.hidden, shape.projection)
        self.composer = bilstm(shape.projection, shape.hidden)

    def compare(self, hypothesis: Side, partner: Side) -> torch.Tensor:
        of_hypothesis, of_partner = attended(hypothesis, partner)
        compared = []
        for (states, mask, lengths), other in ((partner, of_partner), (hypothesis, of_hypothesis)):
            enhanced = torch.cat([states, other, states - other, states * other], 2)
            projected = self._variational(torch.relu(self.projection(enhanced)))
            composed = run_bilstm(self.composer, projected, lengths)
            compared += self._pooled(composed, mask)
        return self._regressed(compared)


NETWORKS: dict[str, type[LearnedNetwork]] = {"bilstm": BiLSTM, "bilstmatt": BiLSTMAttention, "esim": ESIM}


def pooled_width(shape: Shape) -> int:
    return 2 * shape.hidden * (2 if shape.pooling == "both" else 1)


def attended(hypothesis: Side, partner: Side) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the attended states of the other side for each token, by dot products, in the shapes of the sides' states.

    >>> t, r = torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[2.0]]])
    >>> both = torch.ones(1, 2, dtype=torch.bool)
    >>> sides = Side(t, both, [2]), Side(r, both[:, :1], [1])
    >>> of_t, of_r = attended(*sides)    # of_r = (e^2 * 1 + e^0 * 0) / (e^2 + 1)
    >>> of_t.flatten().tolist(), round(of_r.item(), 4)
    ([2.0, 2.0], 0.8808)
    """
    products = partner.states @ hypothesis.states.transpose(1, 2)
    to_hypothesis = products.masked_fill(~hypothesis.mask[:, None, :], -torch.inf).softmax(2)
    to_partner = products.transpose(1, 2).masked_fill(~partner.mask[:, None, :], -torch.inf).softmax(2)
    return to_partner @ partner.states, to_hypothesis @ hypothesis.states


def token_mask(lengths: Sequence[int], device: torch.device = CPU) -> torch.Tensor:
    """Return a mask, bool [texts, longest], True at tokens.

    >>> token_mask([1, 2]).tolist()
    [[True, False], [True, True]]
    """
    return send(np.arange(max(lengths)) < np.array(lengths)[:, None], device)


def token_slots(lengths: Sequence[int], device: torch.device = CPU) -> torch.Tensor:
    """Return each token's index among flattened texts padded to the longest, int64 [tokens].

    >>> token_slots([1, 2]).tolist()
    [0, 2, 3]
    """
    return send(np.flatnonzero(np.arange(max(lengths)) < np.array(lengths)[:, None]), device)


def run_bilstm(lstm: nn.LSTM, padded: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Run a BiLSTM over padded inputs [texts, longest, width]; return states [texts, longest, 2 * hidden], 0 in padding."""
    # sorted longest first here, because pack_padded_sequence would do so with copies that wait for the device
    ordered, order = torch.tensor(lengths).sort(descending=True)
    packed = pack_padded_sequence(padded.index_select(0, send(order, padded.device)), ordered, batch_first=True)
    with full_fp32_lstms(padded.device):
        states = pad_packed_sequence(lstm(packed)[0], batch_first=True)[0]
    return states.index_select(0, send(order.argsort(), padded.device))


@contextmanager
def full_fp32_lstms(device: torch.device) -> Iterator[None]:
    """Within the block, cuDNN computes fp32 LSTMs and their gradients in fp32; its default, TF32, rounds to 11 bits."""
    lstms: Any = torch.backends.cudnn.rnn
    before = lstms.fp32_precision
    if device.type != "cuda" or before == "ieee":
        yield
        return
    lstms.fp32_precision = "ieee"
    try:
        yield
    finally:
        lstms.fp32_precision = before


def bilstm(width: int, hidden: int) -> nn.LSTM:
    """Return a BiLSTM initialised as in the paper's code; only the forget gates' recurrent biases are 1."""
    lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight_ih"):
            nn.init.xavier_uniform_(parameter)
        elif name.startswith("weight_hh"):
            nn.init.orthogonal_(parameter)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_hh"):
                nn.init.ones_(parameter[hidden : 2 * hidden])
    return lstm


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
