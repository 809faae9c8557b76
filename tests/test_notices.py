import logging
import threading
from dataclasses import replace

import pytest

from ctx_metrics import notices
from ctx_metrics.notices import Notice, begin_run, collected, end_run, merged, notice, places, shown_notices


def test_notices_are_warnings_of_our_logger(caplog):
    notice("dropped 3 %s windows")
    assert caplog.record_tuples == [("ctx_metrics", logging.WARNING, "dropped 3 %s windows")]


def test_once_in_a_run_of_a_command(caplog):
    begin_run()
    for text in ("a", "b", "a", Notice("b"), "c"):
        notice(text)
    assert [str(each) for each in shown_notices()] == caplog.messages == ["a", "b", "c"]
    end_run()
    notice("a")
    begin_run(caplog.messages.append)
    notice("a")
    assert caplog.messages == ["a", "b", "c", "a"]


def test_what_is_collected_is_not_shown(caplog):
    """Of every thread, since workers give notices, too; an inner block takes what is given in it."""
    begin_run()
    with collected() as outer:
        worker = threading.Thread(target=notice, args=("a", "bertr"))
        worker.start()
        worker.join()
        with collected() as inner:
            notice("b")
        notice("a", metric="bertr")
    assert (outer, inner, shown_notices(), caplog.messages) == ([Notice("a", metric="bertr")], [Notice("b")], [], [])


EMPTY = Notice.at([1, 3], "segment is empty", "segments are empty", kind="empty")


def test_notices_are_merged_by_all_but_number_and_positions():
    others = (
        Notice.at(range(9), "segment is empty", "segments are empty", about="b.txt", kind="empty"),
        Notice("no GPU"),
    )
    assert merged([(0, [EMPTY, *others]), (10, [others[1], EMPTY]), (20, [EMPTY])]) == [
        replace(EMPTY, number=6, first=(1, 3, 11, 13, 21)),
        *others,
    ]
    assert notices.tallied([EMPTY, EMPTY.at([], "", "", kind="cut")]) == ({"empty": 2, "cut": 0}, [EMPTY])
    assert notices.tallied([EMPTY], {"empty": 2}) == ({"empty": 2}, [])


def test_the_line_of_a_notice():
    assert str(EMPTY) == "2 segments are empty (segments 2, 4)"
    assert str(replace(EMPTY, number=6, metric="bertr").of("a.txt")) == (
        "bertr: a.txt: 6 segments are empty (segments 2, 4, ...)"
    )
    assert str(replace(EMPTY, number=1, first=())) == "1 segment is empty"


@pytest.mark.parametrize(
    "positions, text",
    [([0], "row 1"), ([1, 4], "rows 2, 5"), (range(5), "rows 1, 2, 3, 4, 5"), (range(6), "rows 1, 2, 3, 4, 5, ...")],
)
def test_places(positions, text):
    assert places("row", positions) == text
    assert places("row", [6, 7], number=9) == "rows 7, 8, ..."


def test_quiet_libraries_leaves_levels_that_someone_sets(monkeypatch):
    quiet, loud, late = map(logging.getLogger, ("filelock", "urllib3", "httpx"))
    for each in (quiet, loud, late):
        monkeypatch.setattr(each, "level", logging.NOTSET)
    loud.setLevel(logging.DEBUG)
    with notices.quiet_libraries():
        assert [each.level for each in (quiet, loud, late)] == [logging.ERROR, logging.DEBUG, logging.ERROR]
        late.setLevel(logging.WARNING)
    assert [each.level for each in (quiet, loud, late)] == [logging.NOTSET, logging.DEBUG, logging.WARNING]
