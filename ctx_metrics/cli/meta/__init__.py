"""Meta-evaluation: do metrics agree with people?

Reads test sets with human judgements, scores them with metrics or reads their scores, and says how well they agree under
the protocols of the WMT metrics tasks, with ranks by significance.
"""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import InputError
from ...writing import check_writable
from .arguments import EPILOG, USAGE, add_arguments, check

if TYPE_CHECKING:
    from ...judgements.judged import JudgedSet
    from ...meta.protocols import Protocol

__all__ = ["EPILOG", "INSTEAD", "USAGE", "add_arguments", "run"]
INSTEAD = ("paraphrase",)


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ...meta.evaluation import Significance, evaluate
    from ...meta.output.tables import render
    from ..common import output
    from . import data as meta_data

    check(args)
    check_writable(args.output)
    if args.plot:
        from ...meta import plots

        plots.check()
    for folder in filter(None, (args.plot, args.save_scores)):
        check_writable(folder, folder=True)
    sets = meta_data.read_sets(args)
    protocols = _protocols(sets, args)
    scores = meta_data.score_sets(sets, args)
    significance = Significance(
        args.test, args.alpha, args.resamples, args.seed, args.intervals or bool(args.plot), args.all_pairs
    )
    report = evaluate(sets, scores, protocols, significance, seen=args.seen, quiet=args.quiet)
    output.write(render(report, args.format, args.width), args.output)
    if args.plot:
        from . import figures as meta_figures

        meta_figures.draw(report, sets, scores, protocols, args)
    return 0


def _protocols(sets: "Sequence[JudgedSet]", args: Namespace) -> "list[Protocol]":
    """The protocols of -p, or those that are usual for the sets; InputError, before scoring, if none applies to any."""
    from ...meta.protocols import make_protocols, usual_protocols

    known = make_protocols(args.average, args.threshold)
    wanted = args.protocols or list(dict.fromkeys(name for judged in sets for name in usual_protocols(judged)))
    if not (args.protocols or args.metrics or args.scores):  # the grid alone has scores of systems alone
        wanted = [name for name in wanted if known[name].level == "system"] or ["sys-acc"]
    protocols = [known[name] for name in known if name in wanted]
    lacks = {each.name: {judged.name: each.lacks(judged) for judged in sets} for each in protocols}
    if all(all(of_sets.values()) for of_sets in lacks.values()):
        said = [f"{name} ({', '.join(dict.fromkeys(of_sets.values()))})" for name, of_sets in lacks.items()]
        raise InputError(
            f"{', '.join(judged.name for judged in sets)}: what is asked for does not apply: {'; '.join(said)}"
        )
    return protocols
