"""Measure how well similarity metrics distinguish paraphrases from other sentence pairs.

Scores pairs of sentences, the first as hypothesis and the second as reference, and compares the scores with people's
labels: the area under the ROC curve for labels 0 and 1 (PAWS, MRPC), Spearman's and Pearson's correlation for graded
ones (STS-B).
"""

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...cli.common import flags
from ...cli.common.metrics import Metrics, add_own_flags, chosen_metrics, metric_names
from ...engine_options import EngineOptions
from ...flag_types import Files
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable
from . import Output, Resampling

USAGE = "%(prog)s DATA [DATA ...] -m NAME [NAME ...] [flags]"
EPILOG = """\
DATA is a file (also .gz, .xz), recognised by its first line; quotation marks have no special meaning:
  PAWS      a header id, sentence1, sentence2, label
  MRPC      a header Quality, #1 ID, #2 ID, #1 String, #2 String
  STS-B     no header; the score and the sentences in columns 5 to 7
  any TSV   whose header names sentence1, sentence2, and label (0 or 1) or score (graded)

examples:
  # compare metrics of word overlap with a metric of meaning, on pairs with much overlap
  ctx-metrics meta paraphrase dev_and_test.tsv -m bleu chrf bertr

  # paraphrases and graded similarity, each pair scored in both directions, as a table for a paper
  ctx-metrics meta paraphrase msr_paraphrase_test.txt sts-test.csv -m chrf bertr --both-directions --format latex
"""


@dataclass(frozen=True)
class Pairs:
    word: str = setting(SUPPRESS, flag="WORD", choices=["paraphrase"])
    data: Files = setting("Files of sentence pairs; see below.", flag="DATA", group="sentence pairs and metrics")
    metrics: Metrics = setting(
        "One or more of %(choices)s. `-m NAME --help` shows a metric's own flags. TER is negated.",
        flag="-m --metrics",
        required=True,
        choices=metric_names,
    )
    language: str | None = setting(
        "Language of the sentences, such as de. (Default: unknown)", flag="-l --language", metavar="CODE"
    )
    both_directions: bool = setting(
        "Score each pair in both directions and take the mean, for metrics that treat hypothesis and reference "
        "differently.",
        False,
    )


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    parser.prog += " paraphrase"
    add_all(parser, [Pairs, ("significance", Resampling), Output])
    add_own_flags(parser, argv)
    add_all(parser, [("engine for neural metrics", EngineOptions), flags.quiet()])


def run(line: CommandLine) -> int:
    from ...cli.common import output
    from ...judgements.readers.sentence_pairs import read_pair_sets
    from ..output import render
    from ..paraphrase import SIGNIFICANCE, paraphrase_check

    pairs, written = line[Pairs], line[Output]
    metrics = chosen_metrics(line, pairs.metrics)
    check_writable(written.output)
    sets = read_pair_sets(pairs.data, pairs.language)
    significance = replace(SIGNIFICANCE, **vars(line[Resampling]))
    report = paraphrase_check(
        sets, metrics, engine=line[EngineOptions], both_directions=pairs.both_directions, significance=significance
    )
    output.write(render(report, written.form, written.width), written.output)
    return 0
