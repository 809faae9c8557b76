"""Fixes of what sacrebleu prints."""

import functools
import math


def json_safe(print_results_table):
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
