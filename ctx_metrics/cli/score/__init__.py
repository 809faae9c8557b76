"""Score translations with any metrics: neural ones, and sacrebleu's own BLEU, chrF and TER.

Prints a table of the systems, or segment, document and system scores as TSV or JSON. Scores are on sacrebleu's scale,
x100; a COMET model's .8523 is printed as 85.2.
"""

from argparse import Namespace

from ...notices import notice
from ...writing import check_writable
from .arguments import EPILOG, USAGE, add_arguments, check

__all__ = ["EPILOG", "USAGE", "add_arguments", "run"]


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ...scoring.scores import all_scores
    from ..common import inputs, output
    from . import scoring

    check(args)
    check_writable(args.output)
    read = inputs.read_inputs(args)
    if args.slide_grid is not None:
        from . import grid

        text, signatures = grid.render_grid(read, args)
    else:
        metrics = scoring.build_metrics(read, args)
        context = read.context
        scores = all_scores(metrics.values(), context.systems, context.doc_ids if "document" in args.levels else None)
        reports = {
            name: scoring.report(metric, of_metric, args)
            for (name, metric), of_metric in zip(metrics.items(), scores, strict=True)
        }
        places = scoring.places(read.names, len(context.systems[0]), context.doc_ids, args.levels)
        text = output.render(reports, places, args.format, args.width, args.scale)
        signatures = [(report.title, report.signature) for report in reports.values()]
    if args.format == "tsv" and not args.quiet:  # the other formats have the signatures in them
        for title, signature in signatures:
            notice(f"{title}|{signature}")
    output.write(text, args.output)
    return 0
