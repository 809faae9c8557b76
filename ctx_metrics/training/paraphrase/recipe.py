"""How a paraphrase classifier is trained: the settings, low-rank changes of an encoder or all of it."""

from dataclasses import dataclass, replace

from ...flag_types import Above0, AtLeast0, Patience, Positive, Rank, Seed
from ...settings import setting


@dataclass(frozen=True)
class ParaphraseRecipe:
    """Settings of a training.

    learning_rate    rises over a tenth of all steps and falls to 0 at the last
    swap             anew in each epoch
    weight_decay     of matrices; vectors have none
    clip             longest gradient
    seed             of the head's first weights, the order of pairs, their turning, and dropout
    """

    rank: Rank = setting(
        "Learn changes of this rank over the encoder, which stays where it is: a few MB. 0: learn and write all of its "
        "weights, as a checkpoint of transformers. (Default: 32)",
        32,
    )
    learning_rate: Above0 = setting("AdamW's, at its highest. (Default: 7e-4; of rank 0: 2e-5)", 7e-4)
    epochs: Positive = setting("Most epochs.", 5)
    patience: Patience = setting(
        "Epochs in a row without a higher accuracy on --dev that end the training; none: never."
    )
    batch: Positive = setting("Pairs of a step.", 32)
    swap: bool = setting(
        "Turn each pair round with a chance of one half. (Default: yes; of rank 0: no, as BERT's recipe)",
        True,
        choices=["yes", "no"],
    )
    max_length: Positive = setting("Tokens of a pair, at least 5.", 128)
    weight_decay: AtLeast0 = setting("AdamW's.", 0.01)
    clip: float = 1.0
    seed: Seed = setting("Of all that is drawn.", 1)


ADAPTED = ParaphraseRecipe()
# BERT's own recipe for sentence pairs (Devlin et al. 2019)
WHOLE = replace(ADAPTED, rank=0, learning_rate=2e-5, epochs=3, swap=False)
