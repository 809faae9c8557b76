"""Changes of a text that keep its meaning, letters and digits: they change only case, and the characters in between.

Each function returns the changed text, or None if it has nothing to change.
"""

import re

import numpy as np

from .parts import FINAL, is_unspaced

_PAIRS = ('""', "“”", "«»", "„“", "”“")
_CJK_PAIRS = ("「」", "“”", '""')
# a quotation without quotes inside, in each style
_QUOTED = [
    re.compile(r'(?<!\w)"([^"“”„«»]+)"(?!\w)'),
    re.compile('“([^"“”„«»]+)”'),
    re.compile('«([^"“”„«»]+)»'),
    re.compile('„([^"“”„«»]+)[“”]'),
    re.compile("「([^「」]+)」"),
]
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_DASH = re.compile(r"(?<= )[-–—](?= )|(?<=\w)—(?=\w)|(?<=\d)[-–](?=\d)")
_STOP = re.compile(r"(?<![.。।۔។…])[.。।۔។]$")
_NEEDS_STOP = re.compile(r"""[\w)\]”"»%]$""")


def change_case(text: str, draw: np.random.Generator) -> str | None:
    """Change the case of the first letter, unless the first word is in capitals.

    >>> change_case("The cat", None), change_case("NATO met", None)
    ('the cat', None)
    """
    match = re.search(r"[^\W\d_]+", text)
    if match is None or (len(match[0]) > 1 and match[0].isupper()):
        return None
    changed = text[: match.start()] + match[0][0].swapcase() + text[match.start() + 1 :]
    return changed if changed != text and len(changed) == len(text) else None


def change_quotes(text: str, draw: np.random.Generator) -> str | None:
    """Change the style of all quotation marks, or of all apostrophes."""
    styles = _CJK_PAIRS if is_unspaced(text) else _PAIRS[:4]
    present = [quoted for quoted in _QUOTED if quoted.search(text)]
    if present:
        own = {match[0][0] + match[0][-1] for quoted in present for match in quoted.finditer(text)}
        first, last = draw.choice([style for style in styles if style not in own] or ['""'])
        for quoted in present:
            text = quoted.sub(lambda match: first + match[1] + last, text)
        return text
    changed = _APOSTROPHE.sub(lambda match: "’" if match[0] == "'" else "'", text)
    return changed if changed != text else None


def change_full_stop(text: str, draw: np.random.Generator) -> str | None:
    """Remove the full stop at the end, or add one after a letter, a digit or a closing mark."""
    text = text.rstrip()
    if _STOP.search(text):
        return text[:-1].rstrip()
    if FINAL.search(text) or not _NEEDS_STOP.search(text):
        return None
    return text + (
        "。" if re.search("[\u3040-\u30ff\u3400-\u9fff]", text) else "។" if "\u1780" <= text[-1] <= "\u17ff" else "."
    )


def double_spaces(text: str, draw: np.random.Generator) -> str | None:
    """Double one to three spaces.

    >>> double_spaces("a b", np.random.default_rng(1))
    'a  b'
    """
    places = [match.start() for match in re.finditer(r"(?<=\S) (?=\S)", text)]
    if not places:
        return None
    chosen = draw.choice(places, min(len(places), int(draw.integers(1, 4))), replace=False)
    for place in sorted(chosen.tolist(), reverse=True):
        text = f"{text[:place]} {text[place:]}"
    return text


def change_dashes(text: str, draw: np.random.Generator) -> str | None:
    """Change the length of all dashes between words and between numbers, not of hyphens.

    >>> change_dashes("well-known - 3-4 times", np.random.default_rng(1))
    'well-known – 3–4 times'
    """
    between = {"-": "–—"[int(draw.integers(2))], "–": "-", "—": "–"}
    changed = _DASH.sub(lambda match: _between_numbers(match, text) or between[match[0]], text)
    return changed if changed != text else None


def _between_numbers(match: re.Match[str], text: str) -> str | None:
    if text[match.start() - 1].isspace() or match[0] == "—":
        return None
    return "–" if match[0] == "-" else "-"
