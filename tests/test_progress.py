import logging
import sys

import pytest

from ctx_metrics import notices
from ctx_metrics.notices import Progress, begin_run, collected, shown_notices


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, as a list with one number that a test sets."""
    now = [0.0]
    monkeypatch.setattr(notices, "monotonic", lambda: now[0])
    return now


def lines(caplog):
    return [record.getMessage() for record in caplog.records]


def test_a_line_a_minute_where_stderr_is_no_terminal(clock, caplog):
    with Progress("comet", "text", 4000) as shown:
        for second in range(0, 200, 10):
            clock[0] = second
            shown.update(200)
    assert lines(caplog) == [
        "comet: 1,400 of 4,000 texts in 1 min; about 2 min left",
        "comet: 2,600 of 4,000 texts in 2 min; about 1 min left",
        "comet: 3,800 of 4,000 texts in 3 min; about 9 s left",
    ]


def test_a_run_without_total_or_after_another(clock, caplog):
    unknown, continued = Progress("spa", "comparison"), Progress("annotate", "row", 100, done=50)
    clock[0] = 7300
    unknown.update(1)
    continued.update(25)
    assert lines(caplog) == [
        "spa: 1 comparison in 2 h 2 min",
        "annotate: 75 of 100 rows in 2 h 2 min; about 2 h 2 min left",
    ]


def test_nothing_in_less_than_a_minute_at_the_end_or_if_quiet(clock, caplog):
    shown, silent = Progress("comet", "text", 3), Progress("comet", "text", 9, quiet=True)
    clock[0] = 59
    shown.update(2)
    clock[0] = 100
    shown.update(1)
    silent.update(1)
    assert lines(caplog) == []


def test_lines_are_no_notices(clock, caplog):
    """What collects notices to repeat them later, or lets each through once, does not take them."""
    begin_run()
    with collected() as notices:
        shown = Progress("comet", "text", 9)
        clock[0] = 60
        shown.update(1)
    assert notices == shown_notices() == []
    assert caplog.record_tuples == [("ctx_metrics", logging.WARNING, "comet: 1 of 9 texts in 1 min; about 8 min left")]


def test_a_bar_in_a_terminal(clock, caplog, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress("comet", "text", 9) as shown:
        clock[0] = 600
        shown.update(3)
    assert "comet" in capsys.readouterr().err and lines(caplog) == []
