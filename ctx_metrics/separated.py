"""Tables for other programs: cells separated by tabs or commas."""

import csv
import io
from collections.abc import Iterable, Sequence

SEPARATED = ("tsv", "csv")


def separated(form: str, rows: Iterable[Sequence[str]]) -> str:
    """Return rows as tsv, with each tab in a cell replaced by a space, or as csv, with quotes where needed (RFC 4180).

    >>> separated("tsv", [["a", "b"], ["1,5", "x\\ty"]])
    'a\\tb\\n1,5\\tx y\\n'
    >>> separated("csv", [["a", "b"], ["1,5", "x\\ty"]])
    'a,b\\n"1,5",x\\ty\\n'
    """
    if form == "tsv":
        return "".join("\t".join(" ".join(cell.split("\t")) for cell in row) + "\n" for row in rows)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
