"""Architecture and training settings of a network, and the recipes of the paper and of `comet`."""

from dataclasses import dataclass, replace
from typing import Literal

from ...flag_types import Amount, Model, Positive, Seed
from ...settings import setting
from ..flag_types import Above0, AtLeast0, Layers, Patience, Share

KINDS = ("bilstm", "bilstmatt", "esim", "comet")


@dataclass(frozen=True)
class Architecture:
    """The network to build on the encoder. None stands for the default of the kind."""

    kind: str
    encoder: Model = setting(
        "embedded, multilingual, a folder, or a hub name[@revision]; only comet with --inputs trains it. "
        "(Default: embedded, English only)",
        "embedded",
        group="network",
    )
    inputs: Literal["mt+ref", "mt+src", "mt+src+ref"] | None = setting(
        "Texts that the model reads besides the output: the reference or the source; comet can also read both, as "
        "UniTE does, with low-rank changes of the encoder. (Default: mt+ref; comet: mt+ref by a small regressor "
        "over frozen states)"
    )
    language_tag: bool = setting(
        "With comet --inputs: state the target language before each output, such as de:, in training (except in one "
        "of five readings) and in scoring.",
        False,
    )
    plain_quotes: bool = setting(
        "With comet --inputs: read all styles of quotation marks and apostrophes as one, in training and in scoring, so "
        "that a score does not depend on the style.",
        False,
    )
    rank: Positive | None = setting("Rank of the changes of the encoder that comet learns with --inputs. (Default: 32)")
    layers: Layers | None = setting(
        "Layers of the encoder to read; 0 is the embeddings. (Default: all but 0; comet: three of them)"
    )
    max_length: Positive | None = setting("Maximum number of tokens in a text. (Default: 100, as in the paper)")
    hidden: Positive | None = setting(
        "Width of a BiLSTM in each direction, or of comet's alignment branch. (Default: the paper's 300; comet: 32)"
    )
    projection: Positive | None = setting("Width of esim's projection. (Default: 300)")
    feedforward: Positive | None = setting(
        "Width of the last hidden layer, or of comet's pooled branch. (Default: 300; comet: 64, with --inputs 256)"
    )
    pooling: Literal["both", "avg", "max"] | None = setting(
        "Pooling of token states: their average, maximum, or both. (Default: both)"
    )
    dropout: Share | None = setting("Dropout rate. (Default: the paper's 0.5; comet: 0.1)")

    @property
    def unified(self) -> bool:
        """Whether this is a UniTE-style model."""
        return self.kind == "comet" and self.inputs is not None

    @property
    def reads(self) -> str:
        return self.inputs or "mt+ref"


@dataclass(frozen=True)
class Recipe:
    """Settings of a training run. The defaults are those of the released configurations of Mathur et al. (2019)."""

    loss: Literal["mse", "hinge", "mse+hinge"] = setting(
        "Squared error, a hinge on pairs of outputs of a segment, or their sum.", "mse", group="training"
    )
    learning_rate: Above0 = setting("Maximum learning rate of Adam.", 4e-4)
    schedule: Literal["plateau", "linear"] = setting(
        "plateau: halve the rate after each check without a new best. linear: raise the rate over a tenth of all "
        "steps, then lower it to 0.",
        "plateau",
    )
    decay: float = 0.5
    weight_decay: AtLeast0 = setting("Weight decay of AdamW.", 0.0)
    batch: Positive = setting("Number of rows per step.", 32)
    epochs: Positive = setting("Maximum number of epochs.", 75)
    patience: Patience = setting(
        "End the training after this number of checks in a row without a new best; none: never.", 4
    )
    clip: Above0 = setting("Maximum norm of the gradient.", 10.0)
    check_rows: Amount | None = setting(
        "Number of rows between two checks on --dev, in addition to a check at the end of each epoch."
    )
    margin: Above0 = setting("Margin of the hinge, in standard deviations.", 0.5)
    seed: Seed = setting("Seed of the first weights, the order, dropout and --rows.", 1)


PAPER = Recipe()
# The regressor of `comet` is small: few epochs, and no search for a plateau.
COMET = replace(PAPER, learning_rate=1e-3, schedule="linear", weight_decay=1e-3, batch=64, epochs=6, patience=None)
# With --inputs it adapts its encoder, which learns much from each row.
UNIFIED = replace(COMET, learning_rate=5e-4, weight_decay=1e-2, batch=32, epochs=1, clip=1.0)
