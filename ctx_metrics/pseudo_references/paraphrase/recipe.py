"""Training settings of a paraphrase classifier, which adapts an encoder by low-rank changes or trains all of it."""

from dataclasses import dataclass, replace

from ...flag_types import Positive, Seed
from ...settings import setting
from ...training.flag_types import Above0, AtLeast0, Patience, Rank


@dataclass(frozen=True)
class ParaphraseRecipe:
    rank: Rank = setting(
        "Rank of the changes that are learned for the encoder's weights; only the changes are written (a few MB). "
        "0: all weights are learned, and written as a transformers checkpoint. (Default: 32)",
        32,
    )
    learning_rate: Above0 = setting("Maximum learning rate of AdamW. (Default: 7e-4; with rank 0: 2e-5)", 7e-4)
    epochs: Positive = setting("Maximum number of epochs.", 5)
    patience: Patience = setting(
        "Stop after this many epochs in a row without a higher accuracy on --dev; none: never stop early."
    )
    batch: Positive = setting("Number of pairs in a step.", 32)
    swap: bool = setting(
        "Swap the sentences of each pair with a probability of one half. (Default: yes; with rank 0: no, as in "
        "BERT's recipe)",
        True,
        choices=["yes", "no"],
    )
    max_length: Positive = setting("Maximum number of tokens in a pair, at least 5.", 128)
    weight_decay: AtLeast0 = setting("Weight decay of AdamW.", 0.01)
    clip: float = 1.0
    seed: Seed = setting("Seed of all random choices.", 1)


ADAPTED = ParaphraseRecipe()
# BERT's own recipe for sentence pairs (Devlin et al. 2019)
WHOLE = replace(ADAPTED, rank=0, learning_rate=2e-5, epochs=3, swap=False)
