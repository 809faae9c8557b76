"""Error spans that people marked, in a report."""

import re

import pytest
from report_pages import data_of

from ctx_metrics.cli import main
from ctx_metrics.errors import InputError
from ctx_metrics.report.marked import read_spans
from ctx_metrics.report.page import error_counts
from ctx_metrics.scoring.context import Context

HEADER = "system_id\tsegment_id\thypothesis_segment\tstart_indices\tend_indices\terror_types\n"
TEXTS = [["It rains.", "We left."], ["It pours.", "We went."]]
ROWS = [
    "A\t1\tIt rains.\t0 3\t2 8\tminor major\n",
    "A\t2\tWe left.\t-1\t-1\tno-error\n",
    "B\t2\tWe went.\t0\t2\tcritical\n",
    "C\t1\tHail.\t0\t1\tminor\n",
]


@pytest.fixture
def table(tmp_path):
    def made(*rows: str) -> str:
        path = tmp_path / "people.tsv"
        path.write_text(HEADER + "".join(rows), encoding="utf-8")
        return str(path)

    return made


def test_spans_are_those_of_the_runs_systems_and_segments(table, caplog):
    [found] = read_spans([table(*ROWS)], Context(systems=TEXTS, names=["A", "B"]))
    assert found.title == "people"
    assert {place: [tuple(span) for span in own] for place, own in found.spans.items()} == {
        (0, 0): [(0, 2, "minor"), (3, 8, "major")],
        (1, 1): [(0, 2, "critical")],
    }
    assert error_counts(found, 2) == (["critical", "major", "minor"], [[0, 1, 1], [1, 0, 0]], [1, 1])
    assert re.fullmatch(r".*people.tsv: 1 row belongs to other systems, left out", caplog.messages[0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A\t3\t\t0\t1\tminor\n", "segment_id 3 must be between 1 and 2, the number of segments"),
        ("A\tx\t\t0\t1\tminor\n", "segment_id x must be between 1 and 2, the number of segments"),
        (ROWS[0], "a second row of this system's segment 1; leave one out"),
    ],
)
def test_a_row_that_does_not_fit(table, row, message):
    with pytest.raises(InputError, match=f"people.tsv, line 3: {message}$"):
        read_spans([table(ROWS[0], row)], Context(systems=TEXTS, names=["A", "B"]))


@pytest.mark.full
def test_the_page_has_them(table, tmp_path):
    for name, lines in zip("AB", TEXTS):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    page = tmp_path / "page.html"
    inputs = ["-t", str(tmp_path / "A"), str(tmp_path / "B"), "-r", str(tmp_path / "A"), "-m", "chrf"]
    assert main(["report", *inputs, "--error-spans", table(*ROWS[:3]), "-o", str(page), "-q"]) == 0
    [marked] = data_of(page)["marked"]
    assert marked == {
        "title": "people",
        "spans": {"0 0": [[0, 2, "minor"], [3, 8, "major"]], "1 1": [[0, 2, "critical"]]},
    }
