"""How a paraphrase classifier is trained: the settings, low-rank changes of an encoder or all of it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ParaphraseRecipe:
    """Settings of a training.

    rank             of the learned changes of the encoder's linear layers; 0: the whole encoder is trained
    learning_rate    AdamW's, at its highest: it rises over a tenth of all steps and falls to 0 at the last
    epochs           most epochs
    patience         epochs in a row without a better one on the development pairs that end the training; None: never
    batch            pairs of a step
    swap             turn each pair round with a chance of one half, anew in each epoch
    max_length       tokens of a pair, the special ones with them
    weight_decay     of matrices; vectors have none
    clip             longest gradient
    seed             of the head's first weights, the order of pairs, their turning, and dropout
    """

    rank: int = 32
    learning_rate: float = 7e-4
    epochs: int = 5
    patience: int | None = None
    batch: int = 32
    swap: bool = True
    max_length: int = 128
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 1


ADAPTED = ParaphraseRecipe()
# BERT's own recipe for sentence pairs (Devlin et al. 2019)
WHOLE = replace(ADAPTED, rank=0, learning_rate=2e-5, epochs=3, swap=False)
