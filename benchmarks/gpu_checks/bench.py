"""What the checks share."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from comet_fixture import build_checkpoint
from comet_gpu import distinct_texts, made_up_segments
from findings import Findings, NotMeasured

from ctx_metrics import EngineOptions

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
DTYPES = ("fp32", "bf16", "fp16")


@dataclass
class Bench:
    """What the checks share: the device, where checkpoints are kept, and the rows."""

    device: torch.device
    cache: Path
    findings: Findings

    @property
    def small(self) -> bool:
        """Whether models and texts are small."""
        return self.findings.small

    @cached_property
    def systems(self) -> list[list[dict]]:
        """The texts for measurements of speed."""
        return made_up_segments(40 if self.small else 2000)

    @cached_property
    def few(self) -> list[list[dict]]:
        """Texts for comparisons of scores."""
        return [system[: 8 if self.small else 100] for system in self.systems]

    @cached_property
    def warm_up(self) -> list[list[dict]]:
        """Other texts."""
        return made_up_segments(8 if self.small else 200, seed=1)

    def checkpoint(self, size: str, kind: str = "regression") -> Path:
        """The folder of a random checkpoint; a tiny one where all is small, unless its shape is what matters."""
        chosen = "tiny" if self.small and size != "odd" else size
        return build_checkpoint(self.cache, kind, chosen, distinct_texts(self.systems))

    def options(self, device: object = None) -> EngineOptions:
        """Options for this device, or another."""
        return EngineOptions(device=str(device or self.device), quiet=True)

    def needs_cuda(self) -> None:
        """Raise NotMeasured on other devices."""
        if self.device.type != "cuda":
            raise NotMeasured("needs a CUDA device")

    def needs_speed(self) -> None:
        """Raise NotMeasured where the large size would take hours."""
        if self.device.type == "cpu" and not self.small:
            raise NotMeasured("takes hours on a CPU; --small runs it")
