import logging

import pytest

from ctx_metrics.notices import OncePerRun, logger, notice, place, quiet_libraries


def test_notices_are_warnings_of_our_logger(caplog):
    notice("dropped 3 %s windows")
    assert caplog.record_tuples == [("ctx_metrics", logging.WARNING, "dropped 3 %s windows")]


def test_once_per_run(caplog):
    once = OncePerRun()
    logger.addFilter(once)
    try:
        for text in ("a", "b", "a", "b", "c"):
            notice(text)
    finally:
        logger.removeFilter(once)
    notice("a")
    assert [record.getMessage() for record in caplog.records] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "positions, text",
    [([], ""), ([0], "1"), ([1, 4], "2, 5"), (range(5), "1, 2, 3, 4, 5"), (range(6), "1, 2, 3, 4, 5, ...")],
)
def test_place(positions, text):
    assert place(positions) == text
    assert place([6, 7, 8], shown=2) == "7, 8, ..."


def test_quiet_libraries_leaves_levels_that_someone_set():
    silent, loud = logging.getLogger("filelock"), logging.getLogger("urllib3")
    before = silent.level, loud.level
    silent.setLevel(logging.NOTSET)
    loud.setLevel(logging.DEBUG)
    try:
        quiet_libraries()
        assert (silent.level, loud.level) == (logging.ERROR, logging.DEBUG)
    finally:
        silent.setLevel(before[0])
        loud.setLevel(before[1])
