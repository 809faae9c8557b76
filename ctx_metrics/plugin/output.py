"""Fixes for sacrebleu's printed output."""

import functools
import math
from collections.abc import Callable

from .capture import Run


def json_safe(print_results_table: Callable[..., None]) -> Callable[..., None]:
    """Return a print_results_table that converts numbers that json cannot write.

    Under NumPy 2, the bootstrap means of chrF and TER are np.float32, which crash sacrebleu's default format. NaN becomes
    null.
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
    """Return a print_single_results that prints our signatures in short form, if one of our metrics is printed with others.

    All lines then start at the margin. Aligned scores, as sacrebleu prints them, would put 176 blanks before BLEU's line.
    """

    @functools.wraps(print_single_results)
    def wrapper(results, args):
        if args.format != "text" or args.score_only or not run.chosen or len(results) == 1:
            return print_single_results(results, args)
        from ..scoring.base import ContextMetric  # at the top, every start of sacrebleu would import it

        names = run.metrics if run.native else sorted(run.metrics)  # in sacrebleu's order of results
        metrics = [run.metrics[name] for name in names]
        if not any(isinstance(metric, ContextMetric) for metric in metrics):
            return print_single_results(results, args)
        for metric, line in zip(metrics, results, strict=True):
            if isinstance(metric, ContextMetric):
                signature = metric.get_signature()
                line = line.replace(signature.format(), signature.format(short=True), 1)
            print_single_results([line], args)

    return wrapper
