"""BLEURT: a RemBERT model that scores a hypothesis against a reference (Sellam et al. 2020, Pu et al. 2021)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..metrics.estimated import EstimatorMetric, EstimatorSettings
from ..metrics.keywords import Estimating
from ..paths import Reads
from ..settings import setting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..metrics.keywords import References, Systems
    from ..models.estimator import Estimator

EXAMPLE = "lucadiliello/BLEURT-20-D12"


@dataclass(frozen=True)
class BleurtSettings(EstimatorSettings):
    model: str | None = setting(
        f"A BLEURT-20 checkpoint: folder, OWNER/NAME or OWNER/NAME@REVISION of the hub, such as {EXAMPLE}.",
        None,
        type=Reads(str),
        metavar="MODEL",
    )
    activation: str | None = setting(
        "The network's activation: gelu, with the error function, or gelu_tanh, as in Google's code. (Default: as in the "
        "folder's config.json; gelu in the PyTorch port)",
        choices=["gelu", "gelu_tanh"],
    )


class BleurtKeywords(Estimating, total=False):
    """The metric's keywords, for type checkers."""

    activation: str | None


class BLEURT(EstimatorMetric):
    """BLEURT's score of a hypothesis against a reference, roughly 0 to 1, without bounds, averaged over segments, x100."""

    NAME = "BLEURT"
    Settings = BleurtSettings
    example = EXAMPLE

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[BleurtKeywords]): ...

    def _load_estimator(self) -> "Estimator":
        from ..models.load import check_metric
        from .estimator import BleurtEstimator

        check_metric(str(self.settings.model), "bleurt")
        return BleurtEstimator(self.settings.model, self._context.engine, self.settings.activation)
