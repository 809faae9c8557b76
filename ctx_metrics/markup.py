"""Text in LaTeX and in Markdown, with everything escaped that has a meaning there."""

import re
import unicodedata
from collections.abc import Sequence

LATEX = {
    **{letter: "\\" + letter for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\symbol{34}"},
}
JOINED = "-'`,"  # in LaTeX, two of these become one sign, such as a dash, and so does one after ! or ?


def latex(text: str) -> str:
    """Return a text as LaTeX prints it, in one line; control characters and invalid bytes become question marks.

    >>> print(latex("50%_of #1--a|b"))
    50\\%\\_of \\#1-{}-a\\textbar{}b
    """
    line = " ".join(text.split())
    escaped = [
        "{}" * (letter in JOINED and before in JOINED + "!?")
        + ("?" if unicodedata.category(letter) in ("Cc", "Cs") else LATEX.get(letter, letter))
        for before, letter in zip(" " + line, line, strict=False)
    ]
    return "".join(escaped)


def latex_row(cells: Sequence[str]) -> str:
    """Return a row of a tabular; a star or a bracket at its start is not read as an argument of the line before it."""
    return "{}" * cells[0].startswith(("*", "[")) + " & ".join(cells) + r" \\"


def markdown(text: str) -> str:
    """Return a text as Markdown shows it, in one line.

    >>> print(markdown("a_b|c &lt; <i>"))
    a\\_b\\|c \\&lt; \\<i\\>
    """
    return re.sub(r"[\\`*_\[\]<>|#~$]|&(?=#?\w+;)", r"\\\g<0>", " ".join(text.split()))
