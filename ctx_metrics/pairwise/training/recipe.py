"""Architecture and training settings of a pairwise network: those of Guzmán et al. (2015), and a faster recipe."""

from argparse import BooleanOptionalAction
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from ...errors import InputError
from ...flag_types import Files, Model, Positive, Seed, number
from ...settings import setting
from ...training.flag_types import Above0, AtLeast0, Patience

# The middle layer replaces the paper's 25 syntactic dimensions, the token embeddings its 50 of averaged word vectors.
VECTORS = ("encoder@3:25", "encoder@0:50")
MOST = 1e6  # limit of factors of steps and costs; the product of two of them is still far below fp32's maximum


_units = partial(number, int, lambda value: 0 <= value <= 10_000, "a whole number from 0 to 10,000")


@dataclass(frozen=True)
class Architecture:
    """The network to build: `features` in the syntax of parse_features, `vectors` in that of parse_source."""

    features: Sequence[str] = setting(
        "Metrics whose scores of the two outputs the network reads: 4metrics (BLEU, NIST, TER, METEOR), bleucomp "
        "(16 numbers of "
        "BLEU), the name of any metric, NAME:KEY=VALUE,... for its settings, or none. (Default: 4metrics)",
        ("4metrics",),
        group="network",
        action="store",
        metavar="SPEC",
    )
    vectors: Files = setting(
        "Sentence vectors that the network reads: encoder[@LAYER,...][:DIMENSIONS], a file of word vectors[:DIMENSIONS], or "
        "none; DIMENSIONS are kept by PCA. (Default: two of the encoder's, of 25 and 50 dimensions)",
        VECTORS,
        action="store",
        metavar="SPEC",
    )
    encoder: Model = setting(
        "embedded, multilingual, a folder, or a hub name[@revision]; it is not trained. (Default: embedded, English only)",
        "embedded",
    )
    hidden: Annotated[int, _units, "N"] = setting(
        "Number of hidden units of each of the three groups; 0: logistic regression. (Default: the paper's 4)", 4
    )
    tied: bool = setting("Use one weight matrix for the groups of both outputs with the reference.", False)
    antisymmetric: bool = setting(
        "Train on both orders at once, so that swapping the outputs turns the probability p into exactly 1 - p. "
        "(Default: no, as in the paper)",
        False,
        action=BooleanOptionalAction,
    )

    @property
    def reads_encoder(self) -> bool:
        return any(each.startswith("encoder") for each in self.vectors)


@dataclass(frozen=True)
class PairwiseRecipe:
    """Settings of a training run. The defaults are those of the paper.

    optimiser        adagrad adds weight_decay * weight to the gradients; adamw shrinks weights by
                     learning_rate * weight_decay per step. Both apply this to biases too
    """

    cost: Literal["logistic", "kendall", "logistic+kendall"] = setting(
        "logistic; kendall, which is closer to tau and adds a term against ties; or logistic first, then kendall "
        "from its best weights.",
        "logistic",
    )
    optimiser: Literal["adagrad", "adamw"] = setting("Optimiser.", "adagrad")
    learning_rate: Above0 = setting("Learning rate of the optimiser.", 0.01)
    batch: Positive = setting("Number of pairs per step.", 30)
    weight_decay: AtLeast0 = setting("Weight decay of the optimiser.", 1e-4)
    epochs: Positive = setting("Maximum number of epochs for each cost.", 10_000)
    patience: Patience = setting(
        "End the training with a cost after this number of epochs in a row without a new best; none: never."
    )
    beta: Above0 = setting("With kendall: how narrow the term against ties is.", 100.0)
    gamma: Above0 = setting("With kendall: how steep its steps are.", 100.0)
    seed: Seed = setting("Seed of the first weights, the orders, and a share for --dev.", 1)

    def __post_init__(self):
        for name in ("learning_rate", "weight_decay", "beta", "gamma"):
            if not 0 <= (value := getattr(self, name)) <= MOST:
                raise InputError(f"{name.replace('_', ' ')} {value:g} must be from 0 to {MOST:,.0f}")

    @property
    def phases(self) -> tuple[str, ...]:
        """The cost of each phase.

        >>> PairwiseRecipe(cost="logistic+kendall").phases
        ('logistic', 'kendall')
        """
        return tuple(self.cost.split("+"))


PAPER = PairwiseRecipe()
MODERN = replace(PAPER, optimiser="adamw", learning_rate=3e-3, batch=256, weight_decay=1e-2, epochs=300, patience=20)
RECIPES = {"paper": PAPER, "modern": MODERN}
