"""The flags by which a run's other systems serve as references: --peers, and in sacrebleu's command --ctx-peers."""

from dataclasses import dataclass
from functools import partial

from ..errors import InputError
from ..run.wrappers import Wrap, Wrapper
from ..settings import setting


@dataclass(frozen=True)
class PeerSettings:
    peers: bool = setting(
        "Compare every output with those of the other systems, at least three: alone, or together with the references if "
        "there are any. For all metrics that read references.",
        False,
    )
    peers_weight: float | None = setting(
        "Share of the peers in a score, above 0 and at most 1; the rest is the score against the references. "
        "(Default: 0.5; without references 1)",
        metavar="W",
    )

    def __post_init__(self):
        if self.peers_weight is not None and not self.peers:
            raise InputError("the peers have a weight, but are not asked for; give their flag too")
        if self.peers_weight is not None and not 0 < self.peers_weight <= 1:
            raise InputError(f"the peers' weight is {self.peers_weight:g}; it must be above 0 and at most 1")


class PeersOfTheRun(Wrapper):
    title = "the other systems as references"
    settings = PeerSettings

    def wrap(self, settings: PeerSettings) -> Wrap | None:
        if not settings.peers:
            return None
        from .metric import with_peers

        return partial(with_peers, weight=settings.peers_weight)


PEERS = PeersOfTheRun()
