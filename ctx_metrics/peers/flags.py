"""The flags by which a run's other systems serve as references: --peers, and in sacrebleu's command --ctx-peers."""

from dataclasses import dataclass
from functools import partial

from ..errors import InputError
from ..run.wrappers import Wrap, Wrapper
from ..settings import setting
from ..wording import worded


@dataclass(frozen=True)
class PeerSettings:
    peers: bool = setting(
        "Compare every output with those of the other systems, at least three. With references, systems keep their scores, "
        "and the peers show which of their segments are better. For all metrics that read references.",
        False,
    )
    peers_weight: float | None = setting(
        "Share of the peers in a segment's score, above 0 and at most 1; the rest is the score against the references. At "
        "1, the references do not count at all. (Default: 0.5; without references 1)",
        metavar="W",
    )

    peers_by_source: bool = setting(
        "Weight each peer by the scores that the multilingual comet gives its system, given the source.", False
    )

    peers_left_out: bool = setting("In `compare`: also show the ranks without each of the systems.", False)

    def __post_init__(self):
        if self.peers_left_out and not self.peers:
            raise InputError("--peers-left-out works only with --peers", fix="give both, or leave it out")
        if self.peers_by_source and not self.peers:
            raise InputError("weighting peers by the source works only with peers", fix=f"{_give()}, or leave it out")
        if self.peers_weight is not None and not self.peers:
            raise InputError("a weight of the peers works only with peers", fix=f"{_give()}, or leave it out")
        if self.peers_weight is not None and not 0 < self.peers_weight <= 1:
            raise InputError(f"the peers' weight is {self.peers_weight:g}", fix="it must be above 0 and at most 1")


def _give() -> str:
    return worded("give their flag too", "give peers=True too")


class PeersOfTheRun(Wrapper):
    title = "the other systems as references"
    settings = PeerSettings
    elsewhere = ("peers_left_out",)

    def wrap(self, settings: PeerSettings) -> Wrap | None:
        if not settings.peers:
            return None
        from .metric import with_peers

        weight, by_source, left_out = settings.peers_weight, settings.peers_by_source, settings.peers_left_out
        return partial(with_peers, weight=weight, by_source=by_source, left_out=left_out)


PEERS = PeersOfTheRun()
