"""Choose among candidates of each source by minimum Bayes risk: the one that agrees best with all others, by any metric.

The model reads each text once for all comparisons, and a repeated text is scored once.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ...flag_types import File
from ...notices import counted, notice
from ...settings import CommandLine, setting
from ..minimum_risk import Method
from . import choices

SUMMARY = "choose the candidate that agrees best with all others"

USAGE = "%(prog)s CANDIDATES [CANDIDATES ...] [-n N] [-s FILE] [-m NAME [NAME ...]] [-o FILE] [flags]"
EPILOG = """\
examples:
  # 64 consecutive samples per source, by a COMET model
  ctx-metrics mbr samples.txt -n 64 -s src.txt --model Unbabel/wmt22-comet-da -o best.txt

  # three systems' outputs by chrF and BERTScore together
  ctx-metrics mbr a.txt b.txt c.txt -l en-de -m chrf bertscore -o best.txt

  # only the 16 best of an n-best list by a reference-free model, with a method that is fast on large lists
  ctx-metrics rerank list.nbest -s src.txt --top 16 -o top.nbest
  ctx-metrics mbr top.nbest -s src.txt --model Unbabel/wmt22-comet-da --method aggregate --refine 8

Name a metric to see its flags: ctx-metrics mbr -m bertscore --help
"""


@dataclass(frozen=True)
class References:
    references: File | None = setting("Pseudo-references, in any format of candidates. (Default: the candidates)")


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    choices.add_choices(parser, argv, References, Method)


def run(line: CommandLine) -> int:
    from ..minimum_risk import MinimumRisk

    asked, method, references = choices.checked(line, "mbr"), line[Method], line[References].references
    method.check_numbers()
    if references and method.exclude_self:
        line.error("--exclude-self is for candidates as their own pseudo-references; leave it or --references out")
    items = asked.candidates.read(references)
    found = asked.scored(items, MinimumRisk(asked.run, asked.weights, method, asked.written.top or 1))
    if number := found.exact.count(False):
        of_all = f"{number:,} of {counted(len(items), 'source', 'sources')}"
        notice(
            f"mbr: --method {method.method} only approximates the scores of {of_all}, so it may choose other candidates "
            "than --method exact, which scores all pairs"
        )
    asked.write(items, found.scores, found.signatures, ["" if exact else method.method for exact in found.exact])
    return 0


fix_of_unknown = partial(choices.fix_of_unknown, "mbr")
