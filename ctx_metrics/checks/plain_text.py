"""A notice about texts that are not one plain segment per line: subtitles, tables, JSON, mark-up, logs, subwords and others.

Such a file has a score like any other, and often a good one: numbers, times and tags match those of the reference.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..corpus import Segments
from ..notices import notice
from ..subtitles import NUMBER, TIMES

Lines = Sequence[str]
LEAST = 3  # lines of a kind without which there is no notice
BLOCKS, BLOCK = 20, 50  # evenly spaced blocks of lines that are looked at first
SHOWN = 3  # texts named in one notice
FIRST = 200  # lines in which columns and keys are looked for
# keys of the text in JSON lines of known programs, the best guess first
_TEXT_KEYS = (
    "hypothesis prediction translation mt hyp output generated_text target tgt completion response text content reference"
).split()
_SAVE = "save the text of each segment on a line of its own"
_ALIGN = "`ctx-metrics align` reads subtitles, and so do score, compare and report with --align"


@dataclass(frozen=True)
class Kind:
    """A kind of lines that are not plain text.

    words      the kind of the lines
    fix        a remedy; a function gets the lines, and those of a text in the same
               language, if there is one
    found      says of each line whether it is of the kind
    share      of the lines, above which a text is of the kind
    content    whether lines may be so because their sources are: then no notice if another text has the same there
    """

    name: str
    words: str
    fix: str | Callable[[Lines, Lines], str]
    found: Callable[[Lines], list[bool]]
    share: float = 0.5
    content: bool = False

    def has(self, lines: Lines) -> bool:
        number = sum(self.found(lines))
        return number >= LEAST and number > self.share * len(lines)


def check_plain_text(
    systems: Sequence[Segments], references: Sequence[Segments], source: Segments | None
) -> list[Segments]:
    """Give one notice for each kind of lines that are not plain text; returns the texts that it names."""
    roles = [*systems], [*references], [] if source is None else [source]
    of_kinds: dict[str, list[tuple[Segments, Kind, list[str]]]] = {}
    odd = []
    for role in roles:
        others = [each for other in roles if other is not role for each in other]
        for each in role:
            lines = [line for line in each if line and not line.isspace()]
            kind = next((one for one in _of_sample(lines) if one.has(lines) and not _content(one, each, others)), None)
            if kind is not None:
                of_kinds.setdefault(kind.name, []).append((each, kind, lines))
                odd.append(each)
    for found in of_kinds.values():
        named, kind, lines = found[0]
        shares = [f"{sum(kind.found(own)):,} of {len(own):,} lines of {each.name}" for each, _, own in found[:SHOWN]]
        more = f" and of {len(found) - SHOWN} more texts" if len(found) > SHOWN else ""
        same = [] if named is source else references if any(named is each for each in systems) else systems
        like = [line for line in next(iter(same), ()) if line]
        fix = kind.fix if isinstance(kind.fix, str) else kind.fix(lines, like)
        notice(f"not plain text: {', '.join(shares)}{more} {kind.words}; {fix}")
    return odd


def kind_of(lines: Sequence[str | None]) -> str:
    """Return the name of the kind that a text is of, or "" for plain text.

    >>> kind_of(["1\\tA red house.", "2\\tIt rains.", "3\\tHe left."]), kind_of(["A red house.", "It rains.", "He left."])
    ('tab-separated', '')
    """
    given = [line for line in lines if line and not line.isspace()]
    return next((one.name for one in _of_sample(given) if one.has(given)), "")


def _of_sample(lines: Lines) -> list[Kind]:
    """The kinds that blocks of lines are of; reading all lines for every kind would take too long."""
    if len(lines) < LEAST:
        return []
    if len(lines) <= BLOCKS * BLOCK:
        return [kind for kind in KINDS if kind.has(lines)]
    starts = [k * (len(lines) - BLOCK) // (BLOCKS - 1) for k in range(BLOCKS)]
    sample = [line for start in starts for line in lines[start : start + BLOCK]]
    return [kind for kind in KINDS if sum(kind.found(sample)) > 0.8 * kind.share * len(sample)]


def _content(kind: Kind, text: Segments, others: Sequence[Segments]) -> bool:
    """Whether another text has this kind in most of the lines in which this one has it."""
    if not kind.content:
        return False
    flags = kind.found([line or "" for line in text])
    if kind.name == "numbered" and len(flags) >= 10 and sum(flags) > 0.9 * len(flags):
        return False  # a list as long as the test set has numbers of its lines
    for other in others:
        if len(other) == len(text):
            same = sum(map(all, zip(flags, kind.found([line or "" for line in other]), strict=True)))
            if 2 * same > sum(flags):
                return True
    return False


# A pattern that starts with a rare character, and looks back from there, is searched for several times faster.
def _each(pattern: str, flags: int = 0) -> Callable[[Lines], list[bool]]:
    search = re.compile(pattern, flags).search
    return lambda lines: [search(line) is not None for line in lines]


def _subtitles(lines: Lines) -> list[bool]:
    times = [TIMES.match(line) is not None for line in lines]
    numbers = [NUMBER.match(line) is not None and after for line, after in zip(lines, [*times[1:], False], strict=True)]
    return [time or number for time, number in zip(times, numbers, strict=True)]


def _object(line: str) -> dict[str, object] | None:
    line = line.strip()
    value = _json(line) if line.startswith("{") and line.endswith("}") else None
    return value if isinstance(value, dict) and value else None


def _json(line: str) -> Any:
    if len(line) > 1_000_000:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _texts_in(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings in a JSON value, each after its path in jq's words."""
    if isinstance(value, str):
        yield path or ".", value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts_in(each, f"{path}.{key}" if re.fullmatch(r"[A-Za-z_]\w*", key) else f'{path}."{key}"')
    elif isinstance(value, list):
        for number, each in enumerate(value[:20]):
            yield from _texts_in(each, f"{path or '.'}[{number}]")


def _most_like(texts: Mapping[str, Sequence[str]], like: Lines) -> str:
    """The name of the texts that share most character trigrams with the lines; without lines, of those with most letters."""
    known = _trigrams(like)

    def shared(name: str) -> tuple[float, int]:
        own = _trigrams(texts[name])
        return len(own & known) / (len(own | known) or 1), sum(sum(map(str.isalpha, text)) for text in texts[name])

    return max(texts, key=shared)


def _trigrams(lines: Lines) -> set[str]:
    return {line[k : k + 3].lower() for line in lines[:FIRST] for k in range(max(1, len(line) - 2))}


def _mend_objects(lines: Lines, like: Lines) -> str:
    objects = [found for found in map(_object, lines[:FIRST]) if found]
    keys = next(iter(objects), {}).keys()
    if {"doc_id", "hypothesis"} <= keys:
        return "--align reads JSON lines of documents, as does `ctx-metrics align`"
    texts: dict[str, list[str]] = {}
    for path, text in (pair for each in objects for pair in _texts_in(each)):
        texts.setdefault(path, []).append(text)
    of_key = next((f".{key}" for key in _TEXT_KEYS if f".{key}" in texts), "")
    path = of_key if of_key and not like else _most_like(texts, like) if texts else ".KEY"
    words = (
        f"`jq -r {path}` writes their text" if re.fullmatch(r"[.\w]+", path) else f"`jq -r '{path}'` writes their text"
    )
    if re.fullmatch(r"\.\w+", path):
        words += f", and `ctx-metrics annotate` reads .jsonl (--columns mt={path[1:]})"
    return words


def _mend_columns(lines: Lines, like: Lines) -> str:
    number = _column([line.split("\t") for line in lines[:FIRST]], like)
    return f"`cut -f{number}` writes a column, and `ctx-metrics annotate` reads .tsv (--columns mt={number})"


def _mend_cells(lines: Lines, like: Lines) -> str:
    number = _column([_cells(line, _separator(lines)) for line in lines[:FIRST]], like)
    return f"`ctx-metrics annotate` reads .csv (--columns mt={number}, or the column's name)"


def _column(rows: Sequence[Sequence[str]], like: Lines) -> int:
    """The number of the column that holds the text, from 1."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    columns = zip(*(row for row in rows if len(row) == width), strict=True)
    return int(_most_like({str(number): column for number, column in enumerate(columns, 1)}, like))


def _mend_lists(lines: Lines, like: Lines) -> str:
    rows = [value for line in lines[:FIRST] if isinstance(value := _json(line), list)]
    of_strings = all(isinstance(cell, str) for row in rows for cell in row)
    if rows and of_strings and 1 < len(rows[0]) <= 4 and {*map(len, rows)} == {len(rows[0])}:
        return f"`jq -r '.[{_column(rows, like) - 1}]'` writes one string of each"
    return "write the strings themselves, joined by blanks"


def _mend_quotes(lines: Lines, like: Lines) -> str:
    if sum(line.strip().startswith('"') for line in lines) * 2 < len(lines):
        return "remove them"
    doubled = '; s/""/"/g' if any('""' in line.strip()[1:-1] for line in lines) else ""
    return f"""remove them, as with `sed -E 's/^"(.*)"$/\\1/{doubled}'`"""


def _columns(lines: Lines) -> list[bool]:
    """The lines with a tab that have as many as most of these."""
    counts = [line.count("\t") for line in lines]
    [(width, _)] = Counter(filter(None, counts)).most_common(1) or [(0, 0)]
    return [width > 0 and count == width for count in counts]


# an id that ends in a number, at the beginning of a line or in brackets at its end
_NUMBERED = re.compile(r"^\s*[\[(#<*]{0,2}([\w./:#-]*?)(\d{1,12})[\])>*]{0,2}(?:[.:),;|、．：）]|\s)[*\s]*(?=\S)")
_TRAILING = re.compile(r"\(([\w./:#-]*?)(\d{1,12})\)$")


def _numbered(pattern: re.Pattern[str]) -> Callable[[Lines], list[bool]]:
    """Of the lines with a number: those whose number follows that of the line before, or comes before that of the next."""

    def found(lines: Lines) -> list[bool]:
        ids = [match and (match[1], int(match[2])) for match in map(pattern.search, lines)]
        follows = [
            bool(one and other and one[0] == other[0] and 0 < other[1] - one[1] <= 3) for one, other in pairwise(ids)
        ]
        return [after or before for after, before in zip([False, *follows], [*follows, False], strict=True)][
            : len(lines)
        ]

    return found


_LABEL = re.compile(r"\s*[*\[<(]{0,2}(\w[\w .-]{0,22}\w|\w)[*\])>]{0,2}\s?[:：][*\s]*(?=\S)")


def _labelled(lines: Lines) -> list[bool]:
    """The lines that begin with one of few labels, such as names of speakers."""
    labels = [match and match[1] for match in map(_LABEL.match, lines)]
    counts = Counter(filter(None, labels))
    few = {label for label, number in counts.most_common(6) if number >= LEAST or number * 6 > len(lines)}
    return [label in few for label in labels]


def _csv(lines: Lines) -> list[bool]:
    """Lines of comma-separated values: those with quoted cells, or all with as many cells as nearly every line has."""
    quoted, separator = _quoted_cells(lines), _separator(lines)
    widths = [len(cells) if _are_cells(cells := _cells(line, separator)) else 0 for line in lines]
    [(width, number)] = Counter(widths).most_common(1) or [(0, 0)]
    if width > 1 and number > 0.9 * len(lines) and (any(quoted) or len(lines) >= 10):
        return [one or own == width for one, own in zip(quoted, widths, strict=True)]
    return quoted


def _separator(lines: Lines) -> str:
    return max(",;", key=lambda each: sum(each in line for line in lines[:FIRST]))


def _cells(line: str, separator: str) -> list[str]:
    if len(line) > 100_000 or re.search(r"[\r\n\0]", line):
        return [line]
    return next(csv.reader([line], delimiter=separator), [])


def _are_cells(cells: Sequence[str]) -> bool:
    """Whether the separator is none of prose or of numbers: neither a space nor three digits follow it."""
    return sum(map(bool, cells)) > 1 and not any(re.match(r"\s|\d{3}(?:\D|$)", cell) for cell in cells[1:])


def _quoted_cells(lines: Lines) -> list[bool]:
    """Lines of comma-separated values with quotes: a quoted cell next to another cell."""
    search = re.compile(
        r'^\s*(?:"(?:[^"]|"")*"|[^",;\s]*)([,;])(?:[^",;]*\1)*"(?:[^"]|"")*"(?:\1|$)|^"(?:[^"]|"")*"[,;]\S'
    )
    return [search.search(line) is not None for line in lines]


def _encoded(lines: Lines) -> list[bool]:
    """Lines that are base64 or hexadecimal: one long word of letters of both cases and digits, or of hexadecimal digits."""
    word = re.compile(
        r"\s*(?:[A-Za-z0-9+/_-]{20,}={0,2}|(?:0x)?[0-9a-fA-F]{16,}|(?:[0-9a-fA-F]{2} ){7,}[0-9a-fA-F]{2})$"
    )
    mixed = re.compile(r"(?=.*[0-9+/=])(?=.*[A-Za-z]).*[A-Z0-9]")
    return [bool(word.match(line) and mixed.match(line)) for line in lines]


def _factored(lines: Lines) -> list[bool]:
    """Lines most of whose words have further fields, such as word|POS or word_NN."""
    word = re.compile(r"[^\s|]+(?:\|[^\s|]+)+|\S+_[A-Z]{1,5}\$?|\S+/[A-Z]{2,5}\$?")
    has_field = re.compile("[|_/]").search
    return [
        bool(has_field(line))
        and len(words := line.split()) > 1
        and 2 * sum(map(bool, map(word.fullmatch, words))) > len(words)
        for line in lines
    ]


_LISTS = r"(?:- |\* |• |– |‣ |・)"
_KEY = r"[A-Za-z_][\w.-]*"
_TAG = r"\s*</?[A-Za-z!?][^<>]*>"
_CLOCK = r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,:]\d{1,3})?"

_SPAN = rf"{_CLOCK}(?:\s*(?:-->|-|–|,)\s*{_CLOCK})?"

# The first kind that a text is of counts, so that the special come before the general.
KINDS = (
    Kind("subtitles", "are numbers and times of subtitles", _ALIGN, _subtitles, 0.15),
    Kind(
        "subtitle events",
        "are subtitles with times",
        f"convert them to SRT; {_ALIGN}",
        _each(r"^(?:Dialogue: |\{\d+\}\{\d+\}|\d+:\d\d:\d\d\.\d+,\d+:\d\d:\d\d\.\d+$)"),
        0.3,
    ),
    Kind(
        "fairseq",
        "are output of fairseq-generate",
        "`grep ^D- FILE | cut -c3- | sort -n | cut -f3` writes the hypotheses",
        _each(r"^[SHTDP]-\d+\t"),
    ),
    Kind("json lines", "are JSON objects", _mend_objects, lambda lines: [_object(line) is not None for line in lines]),
    Kind(
        "json",
        "are JSON over several lines",
        "`jq -r '.[]'` writes the texts of a list, `jq -r '.[].KEY'` those of objects",
        _each(r'^\s*(?:[\[\]{}]+,?|"(?:[^"\\]|\\.)*"\s*:\s*\S.*|"(?:[^"\\]|\\.)*",)$'),
        0.6,
    ),
    Kind(
        "n-best list",
        "are divided into fields by |||",
        "`ctx-metrics mbr` and `ctx-metrics rerank` read n-best lists; `awk -F ' [|][|][|] ' '{print $2}'` writes a field",
        _each(r"\|\|\| (?<=\S \|\|\| )"),
    ),
    Kind(
        "gettext",
        "are messages of a PO file",
        "`po2txt` of the Translate Toolkit writes their text",
        _each(r'^(?:msgid|msgstr(?:\[\d\])?|msgctxt|msgid_plural) "|^#[:,.|~] '),
    ),
    Kind(
        "CoNLL",
        "are words with annotations, one in a line (CoNLL)",
        "save the sentences, which `# text =` of CoNLL-U has, one per line",
        _each(r"^(?:\d+(?:-\d+)?\t\S+\t(?:[^\t]+\t){2,}[^\t]+$|# (?:text|sent_id|newdoc|newpar)\b)"),
    ),
    Kind(
        "log",
        "are lines of a log",
        "save the texts without dates and levels",
        _each(
            r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d )"
            r"|^\W{0,2}(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b\W"
        ),
    ),
    Kind(
        "segment times",
        "are segments with a file, a speaker and times (STM, CTM, RTTM)",
        "`ctx-metrics align` aligns the text alone with the reference's segments",
        _each(r"^\S+ \S+ (?:\S+ )?\d+\.\d+ \d+\.\d+ \S"),
    ),
    Kind("tab-separated", "are divided into columns by tabs", _mend_columns, _columns),
    Kind("csv", "are rows of a CSV file", _mend_cells, _csv),
    Kind(
        "mark-up of test sets",
        "are mark-up of a test set or translation memory (SGML, TMX, XLIFF), subtitles (TTML) or an app",
        f"{_SAVE}, without tags",
        _each(
            r"^\s*</?(?:seg|hl|doc|srcset|refset|tstset|mteval|hyp|tuv?|tmx|xliff|trans-unit|unit|segment|source|target"
            r"|dataset|collection|file|body|header|ref|src)(?:\s[^<>]*)?/?>|^\s*<(?:p begin=|string name=)"
        ),
    ),
    Kind(
        "time stamps",
        "begin with a time",
        "remove the times (`ctx-metrics align` aligns text whose lines do not match)",
        _each(rf"^\s*(?:[\[(<{{]{_SPAN}[\])>}}]\s*\S|{_SPAN}[\s:,-])"),
        0.4,
    ),
    Kind(
        "word alignments",
        "are word alignments",
        "give the texts that were aligned",
        _each(r"^\s*\d+-\d+(?:\s+\d+-\d+)*$"),
    ),
    Kind(
        "token ids",
        "are numbers, as of tokens",
        "decode them with the model's tokenizer",
        _each(r"^\W{0,2}\d+(?:[,\s]\s*\d+){3,}\W{0,2}$"),
    ),
    Kind(
        "scores",
        "are one number each",
        "give the texts, not their scores or ids",
        _each(r"^\s*-?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?%?$"),
    ),
    Kind("encoded", "are base64 or hexadecimal", "decode them, as with `base64 -d`", _encoded),
    Kind(
        "binary",
        "contain control characters",
        "this is not a text file, or its encoding is not the one given with -e",
        _each(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]|\ufffd"),
        0.25,
    ),
    Kind(
        "wrong encoding",
        "are UTF-8 that was read in another encoding",
        "save the file again from the original, as UTF-8",
        _each(r"[ÃÂÐÑÅÄ][\x80-\xbf‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€"),
        0.5,
    ),
    Kind(
        "BPE", "are split into subwords (@@)", "`sed -E 's/@@( |$)//g'` joins them", _each(r"@@(?<=\S@@)(?: |$)"), 0.25
    ),
    Kind(
        "SentencePiece",
        "are split into subwords (▁)",
        "`sed 's/ //g; s/▁/ /g; s/^ //'` (or spm_decode) joins them",
        _each(r"▁\S"),
    ),
    Kind(
        "byte-level BPE",
        "are split into subwords (Ġ)",
        "decode them with the model's tokenizer",
        _each(r"Ġ(?<![^\S ]Ġ)\S"),
    ),
    Kind("WordPiece", "are split into subwords (##)", "`sed 's/ ##//g'` joins them", _each(r"##(?<=\w ##)\w"), 0.25),
    Kind("joiners", "are split into subwords (￭)", "`sed 's/ *￭ *//g'` joins them", _each("￭"), 0.25),
    Kind("factors", "have words with further fields", "remove the fields, as with `sed 's/|[^ ]*//g'`", _factored),
    Kind(
        "trees",
        "are syntax trees",
        "save their words",
        _each(r"^\s*\(\s*(?:(?:ROOT|TOP|S1?|NP|FRAG|SBARQ?|SINV|SQ|IP|CS)\s*)?\([A-Z$,.:-]+\s"),
    ),
    Kind(
        "special tokens",
        "contain a model's special tokens",
        "decode with skip_special_tokens=True",
        _each(
            r"<s>|</s>|<pad>|<eos>|<bos>|<\|[a-z_|]+\|>|\[CLS\]|\[SEP\]|\[PAD\]|</?think>|<(?:start|end)_of_turn>"
            r"|^(?:>>\w+<<|<2\w+>|__\w{2,3}__|\[\w\w_[A-Z]{2}\])\s|\[/?INST\]"
        ),
        0.25,
        True,
    ),
    Kind(
        "lists of code",
        "are lists, tuples or bytes as a program prints them",
        _mend_lists,
        _each(r"^\s*(?:[\[({]{1,2}\s*[bu]?['\"].*['\"]\s*,?\s*[\])}]{1,2},?|b['\"].*['\"])$"),
        0.5,
        True,
    ),
    Kind("trailing ids", "end with an id", "`sed -E 's/ *\\([^()]*\\)$//'` removes it", _numbered(_TRAILING), 0.5),
    Kind(
        "Markdown table",
        "are rows of a Markdown table",
        "save one column as plain text",
        _each(r"^\s*\|.*\|\s*$"),
        0.5,
        True,
    ),
    Kind("mark-up", "begin with a tag", f"{_SAVE}, without tags", _each(f"^{_TAG}"), 0.5, True),
    Kind(
        "YAML",
        "are keys and values of YAML",
        _SAVE,
        lambda lines: (
            _each(rf"^\s*(?:- )?{_KEY}:(?:\s|$)|^---$")(lines)
            if any(re.match(rf"(?:- |\s+){_KEY}:\s|---$", line) for line in lines)
            else [False] * len(lines)
        ),
        0.6,
        True,
    ),
    Kind("keys", "are keys and values", _SAVE, _each(rf'^\s*(?:{_KEY}\s?=\s?\S|"[^"]+"\s*=\s*".*";$)'), 0.5, True),
    Kind("quoted", "are in quotation marks", _mend_quotes, _each(r"^\s*(\"|').*\1[,;]?$"), 0.6, True),
    Kind(
        "numbered",
        "begin with numbers that count lines",
        "remove the numbers (`cut -d' ' -f2-` where a blank follows them)",
        _numbered(_NUMBERED),
        0.5,
        True,
    ),
    Kind("labels", "begin with a label or a speaker", "`sed 's/^[^:]*: *//'` removes it", _labelled, 0.5, True),
    Kind(
        "bullets",
        "begin with a bullet",
        "remove it, as with `sed -E 's/^ *(-|[*]|•|–|・) *//'`",
        _each(rf"^\s*{_LISTS}"),
        0.5,
        True,
    ),
    Kind(
        "escapes",
        "contain escaped characters",
        "write the characters themselves, as with json.dumps(..., ensure_ascii=False) or `jq -r`",
        _each(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|(?:%[0-9A-F]{2}){2}|%20(?<=\w%20)\w+%20"),
        0.25,
    ),
)
