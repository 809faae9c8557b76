"""Disentangled attention (DeBERTa, He et al. 2021), in which the distance of two tokens has a key and a query of its own.

The score of token i for token j is, with d = i - j and k' and q' looked up by d:

    (q_i . k_j + q_i . k'_d + q'_d . k_j) / sqrt(3 * size)

Short distances are told apart one by one, longer ones by the logarithm. All layers share one table of embeddings of
distances, which each projects like its tokens. These products of weights are computed once, on loading.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


class Distances:
    """The common part of an encoder's layers: the embedding of each distance.

    states    [2 * most - 1, width], from the distance 1 - most to most - 1
    """

    def __init__(self, take: Callable, config: dict[str, Any], norm: Callable[[torch.Tensor], torch.Tensor]):
        self.most: int = config["max_position_embeddings"]
        buckets, reach = config["position_buckets"], config.get("max_relative_positions", -1)
        distances = torch.arange(1 - self.most, self.most)
        rows = buckets_of(distances, buckets, reach if reach > 0 else self.most) + buckets
        table = norm(take("encoder.rel_embeddings.weight"))
        self.states = table[rows.clamp(0, 2 * buckets - 1).to(table.device)]


def buckets_of(distances: torch.Tensor, buckets: int, reach: int) -> torch.Tensor:
    """The bucket of each distance, int64 [n]: itself up to buckets / 2, and `buckets` - 1 at `reach` - 1.

    >>> buckets_of(torch.tensor([-3, 4, 5, 20, 63]), 8, 64).tolist()
    [-3, 4, 5, 6, 7]
    """
    middle, far = buckets // 2, distances.abs()
    # in fp32, as in the models' own code: the next bucket begins where the rounded logarithm says
    steps = torch.log(far.clamp(min=middle) / middle) / torch.log(torch.tensor((reach - 1) / middle)) * (middle - 1)
    return torch.where(far <= middle, distances, (torch.ceil(steps) + middle).long() * distances.sign())


class DisentangledAttention:
    """One layer's product of queries, keys and values, called like F.scaled_dot_product_attention.

    Tokens of a sequence are all asked (their number of queries is that of keys), or the first one alone.
    """

    def __init__(self, take: Callable, prefix: str, heads: int, distances: Distances, dtype: torch.dtype):
        self.most = distances.most
        width = distances.states.shape[1]
        self.scale = (3 * width // heads) ** -0.5

        def projected(name: str) -> torch.Tensor:
            """A vector of each distance, [heads, distances, size], divided by the divisor of the scores."""
            states = F.linear(distances.states, take(f"{prefix}{name}.weight"), take(f"{prefix}{name}.bias"))
            return (states * self.scale).to(dtype).view(len(states), heads, -1).transpose(0, 1)

        # keys from the largest distance on, queries from the least: then the scores of one token lie side by side
        self.keys = projected("attention.self.key_proj").flip(1).contiguous()
        self.queries = projected("attention.self.query_proj").contiguous()

    def __call__(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, attn_mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """q [n, heads, queries, size], k and v [n, heads, tokens, size] -> [n, heads, queries, size]."""
        bias = (self._of_first(q, k) if q.shape[2] == 1 else self._of_all(q, k)).transpose(0, 1)
        if attn_mask is not None:
            bias = bias.masked_fill(~attn_mask, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=self.scale)

    def _of_all(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """The terms of the scores that come from distances, [heads, n, tokens, tokens]."""
        n, heads, tokens, _ = k.shape
        near = slice(self.most - tokens, self.most + tokens - 1)

        def products(states: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
            """[heads, n, tokens, tokens]: of token a with the distance of the token b from it (keys), or of it from b."""
            found = torch.bmm(states.transpose(0, 1).flatten(1, 2), table[:, near].transpose(1, 2))
            # found is [heads, n * tokens, 2 * tokens - 1], and the row of token a begins at tokens - 1 - a
            each = tokens * (2 * tokens - 1)
            return found.as_strided(
                (heads, n, tokens, tokens), (n * each, each, 2 * tokens - 2, 1), found.storage_offset() + tokens - 1
            )

        return products(q, self.keys) + products(k, self.queries).transpose(2, 3)

    def _of_first(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """The same for each sequence's first token, [heads, n, 1, tokens]."""
        tokens, middle = k.shape[2], self.most - 1
        keys, queries = (
            self.keys[:, middle : middle + tokens],
            self.queries[:, middle + 1 - tokens : middle + 1].flip(1),
        )
        of_query = torch.bmm(q[:, :, 0].transpose(0, 1), keys.transpose(1, 2))
        of_keys = (k * queries).sum(3).transpose(0, 1)
        return (of_query + of_keys)[:, :, None]
