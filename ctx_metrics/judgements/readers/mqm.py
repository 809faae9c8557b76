"""MQM in Google's table format: one row per error, with rater, category and severity; <v> and </v> mark it in the text."""

import re
from collections import Counter, defaultdict

from ...errors import InputError
from ...notices import counted, notice
from ..judged import JudgedSet, is_human
from .grid import Segment, judged_set
from .rows import is_whole, language_pair, read_rows, stem

COLUMNS = ("system", "doc", "doc_id", "rater", "source", "target", "category", "severity")
WEIGHTS = {"critical": 10.0, "major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0}
# of a category and all categories below it, as in mt_metrics_eval.converters.score_mqm
OF_CATEGORY = {("major", "non-translation!"): 25.0, ("minor", "fluency", "punctuation"): 0.1}
MARK = re.compile("</?v>")
WORST = 25.0
_Hypothesis = tuple[str, str, int]  # system, document, segment in it


def weight(severity: str, category: str) -> float:
    """The cost of an error (Freitag et al. 2021, "Experts, Errors, and Context"): major 5, minor 1, minor punctuation 0.1,
    major non-translation 25, neutral 0. A critical error costs 10, as in Unbabel's campaigns for English-Russian. Case makes
    no difference, and the most specific weight counts: that of a category holds for the categories below it.

    >>> weight("Major", "Fluency/Punctuation"), weight("Minor", "Fluency/Punctuation"), weight("minor", "Punctuation")
    (5.0, 0.1, 1.0)
    """
    names = severity.lower(), *category.lower().split("/")
    found = next((names[:k] for k in range(len(names), 1, -1) if names[:k] in OF_CATEGORY), None)
    return OF_CATEGORY[found] if found else WEIGHTS[names[0]]


def read_mqm(path: str, reference: str | None = None) -> JudgedSet:
    """Read segment scores from error annotations: minus the mean over raters of each rater's total error weight.

    reference   the human translation among the systems that serves as reference, such as "refA"; it remains a system.
                Segments without it are left out, with a notice. None: no reference

    `hyp.` before a system's name is dropped. `doc_id` is the segment's number within its document.

    A tool of the WMT20 campaign wrote overlapping marks as doubled text, and raters added words, so the texts in the rows of
    one output may differ. The text of a rater who found no error is used, or else the shortest of the raters' most frequent
    texts.
    """
    _, rows = read_rows(path, COLUMNS, ragged=True)
    of_hypothesis: dict[_Hypothesis, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    penalties: dict[_Hypothesis, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for where, row in rows:
        if not is_whole(row["doc_id"]):
            raise InputError(f"{where}: doc_id {row['doc_id'][:40]!r} is not a segment number")
        key = row["system"].removeprefix("hyp."), row["doc"], int(row["doc_id"])
        of_hypothesis[key][row["rater"]].append(row)
        try:
            penalties[key][row["rater"]] += weight(row["severity"], row["category"])
        except KeyError:
            raise InputError(f"{where}: severity {row['severity']!r} is not one of {', '.join(WEIGHTS)}") from None
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    critical = any(row["severity"].lower() == "critical" for _, row in rows)
    if critical and (above := sum(total > WORST for raters in penalties.values() for total in raters.values())):
        sums = counted(above, "sum of a rater", "sums of a rater")
        notice(f"{path}: has critical errors, so {sums} above {WORST:g} count as {WORST:g}")
    systems = list(dict.fromkeys(system for system, _, _ in of_hypothesis))
    if reference is None:
        humans = ", ".join(system for system in systems if is_human(system)) or "none of them has a human's name"
        notice(f"{path}: read without a reference; name one of its systems with --reference ({humans})")
    elif (reference := reference.removeprefix("hyp.")) not in systems:
        raise InputError(f"{path}: no system {reference} that could be the reference; there are {', '.join(systems)}")
    texts = {key: _clean_text(raters, "target") for key, raters in of_hypothesis.items()}
    segments: dict[tuple[str, int], Segment] = {}
    for (system, document, position), raters in of_hypothesis.items():
        place = document, position
        if place not in segments:
            of_reference = None if reference is None else texts.get((reference, *place))
            segments[place] = Segment(document, position, _clean_text(raters, "source"), [of_reference])
        totals = [min(total, WORST) if critical else total for total in penalties[system, document, position].values()]
        score = -sum(totals) / len(totals)
        segments[place].judge(system, texts[system, document, position], score)
    name = stem(path)
    pair = re.search(r"_([a-z]{2})([a-z]{2})(?![a-z])", name)
    return judged_set(name, segments.values(), (pair[1], pair[2]) if pair else language_pair(name), reference)


def _clean_text(raters: dict[str, list[dict[str, str]]], column: str) -> str:
    """The unmarked text, recovered from the rows of each rater."""
    without_error = [rows for rows in raters.values() if rows[0]["severity"].lower() == "no-error"]
    counts = [Counter(_unmarked(row[column]) for row in rows) for rows in without_error or raters.values()]
    return min((max(texts, key=lambda text: (texts[text], -len(text))) for texts in counts), key=len)


def _unmarked(text: str) -> str:
    """A text without error marks, and without the CSV quotes of some rows: "Er sagt ""ja""." becomes Er sagt "ja".

    >>> _unmarked('"Er sagt <v>""ja""</v>."'), _unmarked('"Ja", <v>sagt</v> er.')
    ('Er sagt "ja".', '"Ja", sagt er.')
    """
    text = MARK.sub("", text)
    inner = text[1:-1]
    if len(text) > 1 and text[0] == text[-1] == '"' and '""' in inner and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return text
