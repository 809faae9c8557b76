"""Print the BibTeX entries of a metric's papers."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).parent / "references.bib"
# A learned metric cites its recipe and the models that it may run: keep the entry of the model you ran.
PAPERS = {
    "bertr": ["mathur-etal-2019-putting"],
    "bertscore": ["zhang-etal-2020-bertscore"],
    "bilstm": ["mathur-etal-2019-putting"],
    "bilstmatt": ["mathur-etal-2019-putting"],
    "esim": ["mathur-etal-2019-putting", "chen-etal-2017-enhanced"],
    "comet": [
        "rei-etal-2020-comet",
        "rei-etal-2022-comet",
        "rei-etal-2022-cometkiwi",
        "guerreiro-etal-2024-xcomet",
        "wan-etal-2022-unite",
    ],
    "slide": ["raunak-etal-2024-slide"],
    "doccomet": ["vernikos-etal-2022-embarrassingly"],
    "rttbleu": ["moon-etal-2020-revisiting"],
    "rttsentbleu": ["moon-etal-2020-revisiting"],
    "rttchrf": ["moon-etal-2020-revisiting"],
    "rttsbert": ["moon-etal-2020-revisiting", "reimers-gurevych-2019-sentence"],
    "rttbertscore": ["moon-etal-2020-revisiting", "zhang-etal-2020-bertscore"],
    "prsentbleu": ["yoshimura-etal-2019-filtering"],
    "prbleu": ["yoshimura-etal-2019-filtering"],
    "prchrf": ["yoshimura-etal-2019-filtering"],
    "pairwise": ["guzman-etal-2015-pairwise", "bradley-terry-1952-rank"],
    "nist": ["doddington-2002-automatic"],
    "meteor": ["banerjee-lavie-2005-meteor", "denkowski-lavie-2011-meteor"],
    "bleu": ["papineni-etal-2002-bleu"],
    "chrf": ["popovic-2015-chrf"],
    "ter": ["snover-etal-2006-study"],
    "sacrebleu": ["post-2018-call"],
}


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    parser.add_argument(
        "metrics",
        metavar="METRIC",
        nargs="+",
        type=str.lower,
        choices=list(PAPERS),
        help=f"one or several of {', '.join(PAPERS)}",
    )


def run(args: Namespace) -> int:
    entries = bibliography()
    keys = dict.fromkeys(key for metric in args.metrics for key in PAPERS[metric])
    print("\n\n".join(entries[key] for key in keys))
    return 0


def bibliography() -> dict[str, str]:
    """The entries of references.bib by key, each with the comment above it. Empty lines part them."""
    entries = {}
    for entry in BIBLIOGRAPHY.read_text(encoding="utf-8").strip().split("\n\n"):
        key = entry.partition("{")[2].partition(",")[0]
        entries[key] = entry
    return entries
