"""Subtitles: their numbers and times, and the text of each."""

import re

from .notices import counted, notice

_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[,.]\d{1,3}"
TIMES = re.compile(rf"\s*\[?{_CLOCK} *--> *{_CLOCK}")
_RANGE = re.compile(rf"\[{_CLOCK} *--> *{_CLOCK}\]")
_NOTES = "NOTE", "STYLE", "REGION"  # blocks of WebVTT
NUMBER = re.compile(r"\s*\d+\s*$")


def without_times(text: str, name: str) -> str:
    """Return the text of subtitles (SRT, WebVTT), each on a line of its own; of another text, the text itself.

    name    for the notice that subtitles were read

    >>> times = "00:02.000 --> 00:03.500", "00:04.000 --> 00:05.500"
    >>> without_times(f"WEBVTT\\n\\n{times[0]}\\nHe was\\nhere.\\n\\n{times[1]}\\nHe left.\\n", "a.vtt")
    'He was here.\\nHe left.\\n'
    """
    lines = [line.strip() for line in text.split("\n")]
    starts = [k for k, line in enumerate(lines) if TIMES.match(line)]
    if len(starts) < 2 or len(starts) <= 0.1 * sum(map(bool, lines)):
        return text
    texts = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        own = lines[start + 1 : end]
        if end < len(lines) and own and (NUMBER.match(own[-1]) or (own[-1] and "" in own[-2:-1])):
            own.pop()  # the number or name of the next one
        blocks = [block for block in "\n".join(own).split("\n\n") if not block.strip().startswith(_NOTES)]
        beside = _RANGE.sub("", lines[start]) if lines[start].startswith("[") else ""  # Whisper's "[times] text"
        texts.append(" ".join(f"{beside} {' '.join(blocks)}".split()))
    notice(f"{name}: read as {counted(len(texts), 'subtitle', 'subtitles')}, without numbers and times")
    return "".join(f"{each}\n" for each in texts)
