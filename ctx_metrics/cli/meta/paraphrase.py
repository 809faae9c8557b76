"""How well do similarity metrics tell paraphrases apart?

Scores pairs of sentences, the first as hypothesis and the second as reference, and compares the scores with people's
labels: the area under the ROC curve for labels 0 and 1 (PAWS, MRPC), Spearman's and Pearson's correlation for graded
ones (STS-B).
"""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from os.path import expanduser

from ...flag_types import output_file, positive, probability
from ...run.flags import add_engine_arguments, add_metric_arguments, metric_name, wanted_metrics
from ...run.registry import MetricTable
from ...writing import check_writable
from ..common.sacrebleu_arguments import FLAGS, add_sacrebleu_arguments, unused_flag
from .arguments import ENDINGS, FORMATS, decimals

WORD = "paraphrase"  # `ctx-metrics meta paraphrase ...`
USAGE = "%(prog)s DATA [DATA ...] -m NAME [NAME ...] [flags]"
EPILOG = """\
DATA is a file (also .gz, .xz), recognised by its first line; quotes in it are letters:
  PAWS      a header id, sentence1, sentence2, label
  MRPC      a header Quality, #1 ID, #2 ID, #1 String, #2 String
  STS-B     no header; the score and the sentences in columns 5 to 7
  any TSV   whose header names sentence1, sentence2, and label (0 or 1) or score (graded)

examples:
  # overlap of words against a metric of meaning, on pairs of much overlap
  ctx-metrics meta paraphrase dev_and_test.tsv -m bleu chrf bertr

  # paraphrases and graded similarity, each pair read both ways round, as a table for a paper
  ctx-metrics meta paraphrase msr_paraphrase_test.txt sts-test.csv -m chrf bertr --both-directions --format latex
"""


def add_arguments(parser: ArgumentParser, argv: Sequence[str], table: MetricTable) -> None:
    """Add all flags; of the metrics, those that this command line names show theirs."""
    parser.prog += f" {WORD}"
    parser.description, parser.usage, parser.epilog = __doc__, USAGE, EPILOG
    parser.add_argument("check", choices=[WORD], help=SUPPRESS)
    names = [name.lower() for name in table]
    group = parser.add_argument_group("sentence pairs and metrics")
    group.add_argument("data", nargs="+", type=expanduser, metavar="DATA", help="Files of sentence pairs; see below.")
    group.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        action="extend",
        required=True,
        type=metric_name(table),
        choices=names,
        metavar="NAME",
        help=f"Any of {', '.join(names)}; their own flags are shown by `-m NAME --help`. TER is negated.",
    )
    group.add_argument(
        "-l", "--language", metavar="CODE", help="Language of the sentences, such as de. (Default: not told)"
    )
    group.add_argument(
        "--both-directions",
        action="store_true",
        help="Score each pair both ways round and take the mean, for metrics that tell hypothesis from reference.",
    )
    group = parser.add_argument_group("significance")
    group.add_argument(
        "--resamples",
        type=positive,
        default=1000,
        metavar="N",
        help="Of the bootstrap of sentence pairs, which gives intervals and ranks. (Default: %(default)s)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="(Default: %(default)s)")
    group.add_argument(
        "--alpha", type=probability, default=0.05, metavar="P", help="Level of significance. (Default: %(default)s)"
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format", choices=FORMATS, help="(Default: the ending of -o, if it is .json, .tsv, .tex or .md, else table)"
    )
    group.add_argument("-o", "--output", type=output_file, metavar="FILE", help="In place of the standard output (-).")
    group.add_argument("-w", "--width", type=decimals, metavar="N", help="Decimals. (Default: 3, tsv 6; JSON has all)")
    words = [word for word in argv if word != "-h" and not (len(word) > 2 and "--help".startswith(word))]
    own = {name: add_metric_arguments(parser, name, table) for name in wanted_metrics(table.plugins, words)}
    own |= add_sacrebleu_arguments(parser, words)
    group = parser.add_argument_group("engine of the neural metrics")
    add_engine_arguments(group)
    group.add_argument("-q", "--quiet", action="store_true", help="No progress bars.")
    parser.set_defaults(own=own, table=table)


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ...judgements.readers.sentence_pairs import read_pair_sets
    from ...meta.evaluation import Significance
    from ...meta.output.tables import render
    from ...meta.paraphrase import paraphrase_check
    from ...meta.scoring import MetricSettings
    from ...run.flags import engine_options
    from ..common import output

    _check(args)
    check_writable(args.output)
    sets = read_pair_sets(args.data, args.language)
    metrics = [
        MetricSettings(
            name,
            args.table[name.upper()],
            {dest.removeprefix(f"{name}_"): getattr(args, dest) for dest in args.own.get(name, ())},
        )
        for name in args.metrics
    ]
    engine = engine_options(args)
    significance = Significance("bootstrap", args.alpha, args.resamples, args.seed, intervals=True)
    report = paraphrase_check(
        sets, metrics, engine=engine, both_directions=args.both_directions, significance=significance
    )
    output.write(render(report, args.format, args.width), args.output)
    return 0


def _check(args: Namespace) -> None:
    """Fill in the format; exits with 2, as argparse does, for a flag of a metric that -m does not name."""
    args.metrics = list(dict.fromkeys(args.metrics))
    for name in args.own:
        for word in args.argv:
            if name not in args.metrics and word.startswith(f"--{name}-"):
                args.parser.error(f"{word} is a flag of {name}, which -m does not name")
    if fault := unused_flag(args, {name: args.own[name] for name in FLAGS}):
        args.parser.error(fault)
    if args.format is None:
        args.format = ENDINGS.get((args.output or "").rpartition(".")[2].lower(), FORMATS[0])
