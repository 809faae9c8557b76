"""How a pairwise network is trained: the settings of Guzmán et al. (2015), and a quicker way."""

from dataclasses import dataclass, replace

from ...errors import InputError

COSTS = ("logistic", "kendall", "logistic+kendall")
OPTIMISERS = ("adagrad", "adamw")
MOST = 1e6  # of what steps and costs are multiplied by; products of two of them are still far from fp32's end


@dataclass(frozen=True)
class PairwiseRecipe:
    """Settings of a training run. The defaults are those of the paper.

    cost             see training.pairwise.costs; logistic+kendall: logistic in a first phase, and from the best weights of
                     that, with a fresh optimiser, kendall in a second one
    optimiser        adagrad, to whose gradients weight_decay * weight is added; adamw, which shrinks weights by
                     learning_rate * weight_decay a step. Both do so to biases too
    learning_rate    of all steps of Adagrad and AdamW alike
    batch            pairs of a step
    epochs           most epochs of each phase
    patience         epochs without a higher tau on the development pairs after which a phase ends; None: never
    beta, gamma      of the Kendall cost
    seed             of the first weights, of which text of a pair is shown first, and of the order of pairs

    Raises InputError for a cost or an optimiser that there is not, and for numbers that fp32 cannot compute with.
    """

    cost: str = "logistic"
    optimiser: str = "adagrad"
    learning_rate: float = 0.01
    batch: int = 30
    weight_decay: float = 1e-4
    epochs: int = 10_000
    patience: int | None = None
    beta: float = 100.0
    gamma: float = 100.0
    seed: int = 1

    def __post_init__(self):
        for name, value, known in (("cost", self.cost, COSTS), ("optimiser", self.optimiser, OPTIMISERS)):
            if value not in known:
                raise InputError(f"{name} {value!r} is none of {', '.join(known)}")
        for name in ("learning_rate", "weight_decay", "beta", "gamma"):
            if not 0 <= (value := getattr(self, name)) <= MOST:
                raise InputError(f"{name.replace('_', ' ')} {value:g} is not from 0 to {MOST:,.0f}; name a smaller one")

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
