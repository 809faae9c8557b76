"""What a benchmark finds, as rows of one table: the check, its figure, what to expect, and the verdict."""

import contextlib
import sys
import time
import traceback
from collections.abc import Callable

from tabulate import tabulate


class NotMeasured(Exception):
    """What a check needs is missing; the message says what."""


class Findings:
    """The rows of one run.

    small     whether the sizes are small: then speed and memory are not judged
    failed    whether a figure missed its target, or a check failed with an error
    """

    HEADERS = ("check", "figure", "target, or what to expect", "verdict")

    def __init__(self, small: bool):
        self.small, self.failed = small, False
        self.rows: list[tuple[str, str, str, str]] = []
        self._start = time.perf_counter()

    def add(
        self, check: str, figure: str, expected: str = "", good: bool | None = None, of_speed: bool = False
    ) -> None:
        """Add a row.

        good        whether the figure is as expected; None where nothing is judged
        of_speed    whether the figure is a matter of speed or size
        """
        if good is None or (self.small and of_speed):
            verdict = "-" if good is None else "not judged: too small"
        else:
            verdict = "pass" if good else "FAIL"
            self.failed |= not good
        self.rows.append((check, figure, expected, verdict))

    def run(self, name: str, check: Callable[[], None]) -> None:
        """Run a check that adds its own rows. One that cannot be measured, or fails with an error, gets a row that says
        why; Ctrl-C ends this check alone."""
        print(f"[{time.perf_counter() - self._start:4.0f} s] {name}", file=sys.stderr, flush=True)
        try:
            check()
        except NotMeasured as reason:
            self.skip(name, str(reason))
        except KeyboardInterrupt:
            self.add(name, "interrupted", "no error", False)
        except Exception as error:  # whatever it is, the checks that follow must run
            traceback.print_exc()
            shown = " ".join(f"{type(error).__name__}: {error}".split())
            self.add(name, shown[:300], "no error", False)

    def skip(self, name: str, why: str) -> None:
        """Add a row for what is not measured."""
        self.rows.append((name, "", "", f"not measured: {why}"))

    def show(self) -> None:
        """Print the table."""
        with contextlib.suppress(BrokenPipeError):
            print(tabulate(self.rows, self.HEADERS, tablefmt="github", disable_numparse=True))
