"""Fixes of what sacrebleu prints."""

import functools
import math
from collections.abc import Callable

from .capture import Run


def json_safe(print_results_table: Callable[..., None]) -> Callable[..., None]:
    """print_results_table that turns numbers json cannot write into ones it can.

    Under NumPy 2, chrF's and TER's bootstrap means are np.float32, and sacrebleu's default format dies of them. NaN
    becomes null.
    """

    @functools.wraps(print_results_table)
    def wrapper(results, signatures, args):
        for cell in (cell for column in results.values() for cell in column if hasattr(cell, "p_value")):
            for key, value in vars(cell).items():
                value = value.item() if hasattr(value, "item") else value
                if args.format == "json" and isinstance(value, float) and math.isnan(value):
                    value = None
                setattr(cell, key, value)
        return print_results_table(results, signatures, args)

    return wrapper


def short_at_the_margin(print_single_results: Callable[..., None], run: Run) -> Callable[..., None]:
    """print_single_results that, where a metric of ours stands beside others, prints our signatures in their short form
    and begins every line at the margin. sacrebleu aligns the scores, so that BLEU's line began after 176 blanks.
    """

    @functools.wraps(print_single_results)
    def wrapper(results, args):
        if args.format != "text" or args.score_only or not run.chosen or len(results) == 1:
            return print_single_results(results, args)
        from ..scoring.base import ContextMetric  # not above: every start of sacrebleu would import it

        names = run.metrics if run.native else sorted(run.metrics)  # as sacrebleu orders the results
        metrics = [run.metrics[name] for name in names]
        if not any(isinstance(metric, ContextMetric) for metric in metrics):
            return print_single_results(results, args)
        for metric, line in zip(metrics, results, strict=True):
            if isinstance(metric, ContextMetric):
                signature = metric.get_signature()
                line = line.replace(signature.format(), signature.format(short=True), 1)
            print_single_results([line], args)

    return wrapper
