"""Progress of a long run: a bar in a terminal, and a line about once a minute elsewhere."""

from time import monotonic

from tqdm import tqdm

from .notices import counted, progress, shows_bars

EVERY = 60.0  # seconds between two lines


class Progress:
    """Shows the progress of a long run: a bar if stderr is a terminal, else a line about once a minute; nothing if `quiet`.

    unit     what is counted, in the singular, such as "text"
    total    how many there are; None if unknown
    done     how many of them an earlier run has finished

    A run of less than a minute prints no line. If the total is known, each line gives the time left.

    >>> with Progress("comet", "text", 3, quiet=True) as shown:
    ...     shown.update(2)
    ...     shown.update(1)
    """

    def __init__(self, label: str, unit: str, total: int | None = None, *, done: int = 0, quiet: bool = False):
        self.label, self.unit, self.total, self.done = label, unit, total, done
        self._lines, self._before = not (quiet or shows_bars()), done
        self._start = self._last = monotonic()
        self._bar = tqdm(total=total, initial=done, desc=label, unit=unit, leave=False, disable=quiet or self._lines)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def update(self, n: int = 1) -> None:
        self.done += n
        self._bar.update(n)
        if self._lines and (now := monotonic()) - self._last >= EVERY and self.done != self.total:
            self._last = now
            progress(self._line(now - self._start))

    def _line(self, taken: float) -> str:
        new = self.done - self._before
        if self.total is None:
            return f"{self.label}: {counted(self.done, self.unit, f'{self.unit}s')} in {duration(taken)}"
        so_far = f"{self.label}: {self.done:,} of {self.total:,} {self.unit}s in {duration(taken)}"
        return f"{so_far}; about {duration(taken * (self.total - self.done) / new)} left" if new else so_far


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(7.2), duration(100), duration(7500)
    ('7 s', '2 min', '2 h 5 min')
    """
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
