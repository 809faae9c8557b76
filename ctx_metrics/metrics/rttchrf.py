"""RTT-chrF: chrF of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Any, Optional

from sacrebleu.metrics import CHRF

from ..run.context import Stream
from .roundtrip import RoundTripMetric
from .segment_mean import SegmentMean


class RTTChrF(RoundTripMetric):
    """chrF with the round trip as hypothesis and the source as reference, in [0, 100].

    average          the mean of the segments' chrF in place of sacrebleu's corpus statistics
    char_order, word_order, beta    chrF's; word_order 2 is chrF++, beta 3 is WMT19's
    context          as RoundTripMetric takes it

    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTChrF"

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        average: bool = False,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        **context: Any,
    ):
        chrf = CHRF(char_order=char_order, word_order=word_order, beta=beta)
        inner = SegmentMean(chrf) if average else chrf
        super().__init__(inner, references, systems=systems, **context)
        self.settings |= {"beta": beta, "average": "segments" if average else "corpus"}

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rttchrf-* of the sacrebleu command."""
        group.add_argument(
            "--rttchrf-average",
            action="store_true",
            help="The mean of the segments' chrF, as the paper has it, in place of sacrebleu's corpus statistics.",
        )
        add_chrf_arguments(group, "rttchrf")


def add_chrf_arguments(group, name: str) -> None:
    """The flags --NAME-char-order, --NAME-word-order and --NAME-beta."""
    for flag, default, words in (
        ("char-order", 6, "Longest character n-grams"),
        ("word-order", 0, "Longest word n-grams; 2 is chrF++"),
        ("beta", 2, "Weight of recall"),
    ):
        group.add_argument(
            f"--{name}-{flag}", type=int, default=default, metavar="N", help=f"{words}. (Default: %(default)s)"
        )
