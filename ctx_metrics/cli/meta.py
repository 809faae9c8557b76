"""Meta-evaluation: do metrics agree with people?

Reads test sets with human judgements, scores them with metrics or reads their scores, and says how well they agree under
the protocols of the WMT metrics tasks, with ranks by significance.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    from .meta_arguments import add_arguments
    from .score import metric_table

    add_arguments(parser, argv, metric_table())
    parser.set_defaults(argv=list(argv))


def run(args: Namespace) -> int:
    from ..meta.evaluate import Significance, evaluate
    from ..meta.protocols import make_protocols, usual_protocols
    from ..meta.tables import render
    from . import meta_arguments, meta_data, output

    meta_arguments.check(args, args.argv)
    output.check_output(args.output)
    if args.plot:
        from ..meta import plots

        plots.check()  # before anything is scored
        output.check_output(os.path.join(args.plot, "figure"))
    sets = meta_data.read_sets(args)
    scores = meta_data.score_sets(sets, args)
    known = make_protocols(args.average, args.threshold)
    wanted = args.protocols or list(dict.fromkeys(name for judged in sets for name in usual_protocols(judged)))
    protocols = [known[name] for name in known if name in wanted]
    significance = Significance(
        args.test, args.alpha, args.resamples, args.seed, args.intervals or bool(args.plot), args.all_pairs
    )
    report = evaluate(sets, scores, protocols, significance, args.seen)
    text = render(report, args.format, args.width)
    output.write(text, args.output)
    if args.plot:
        from . import meta_figures

        meta_figures.draw(report, sets, scores, protocols, args)
    return 0
