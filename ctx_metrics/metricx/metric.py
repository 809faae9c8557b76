"""MetricX: mT5 models that predict the MQM errors of a segment (Juraska et al. 2023, 2024)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..metrics.estimated import EstimatorMetric, EstimatorSettings
from ..metrics.keywords import Estimating
from ..paths import Reads
from ..settings import setting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..metrics.keywords import References, Systems
    from ..models.estimator import Estimator

EXAMPLE = "google/metricx-24-hybrid-large-v2p6"


@dataclass(frozen=True)
class MetricXSettings(EstimatorSettings):
    model: str | None = setting(
        f"A MetricX checkpoint: folder, OWNER/NAME or OWNER/NAME@REVISION of the hub, such as {EXAMPLE}.",
        None,
        type=Reads(str),
        metavar="MODEL",
    )
    version: str | None = setting("Version of MetricX. (Default: by the model's name)", choices=["24", "23", "23-qe"])
    tokenizer: str | None = setting(
        "The tokenizer: a folder or a hub name. (Default: the model's own, else google/mt5-xl)",
        type=Reads(str),
        metavar="TOKENIZER",
    )
    inputs: str | None = setting(
        "Texts that MetricX-24 reads. (Default: mt+src+ref, or mt+src without references)",
        choices=["mt+src+ref", "mt+src"],
    )
    multiref: str = setting("How to combine the scores of several references.", "min", choices=["min", "mean"])

    def __post_init__(self):
        if isinstance(self.version, int):
            object.__setattr__(self, "version", str(self.version))


class MetricXKeywords(Estimating, total=False):
    """The metric's keywords, for type checkers."""

    version: str | None
    tokenizer: str | None
    inputs: str | None


class MetricX(EstimatorMetric):
    """MetricX's prediction of the MQM errors in a segment, 0 (none) to 25, averaged over segments; lower is better."""

    NAME = "MetricX"
    Settings = MetricXSettings
    example = EXAMPLE
    capabilities = replace(EstimatorMetric.capabilities, higher_is_better=False)

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[MetricXKeywords]): ...

    def _choice(self) -> tuple[str | None, str | None]:
        """The model, and the texts that MetricX-24 reads; the others read the texts that they were trained on."""
        with_references = "mt+src+ref" if self._has_references else "mt+src"
        return self.settings.model, self.settings.inputs or with_references

    def _load_estimator(self) -> "Estimator":
        from ..models.load import check_metric
        from .estimator import MetricXEstimator

        check_metric(str(self.settings.model), "metricx")
        assert self._chosen is not None  # by _adapt
        own, inputs = self.settings, self._chosen[1]
        return MetricXEstimator(
            own.model, self._context.engine, inputs, own.version, own.tokenizer, own.inputs is None, flags=True
        )
