"""Does a model without references see errors, and overlook what is none?

    python benchmarks/probes.py DATA [--model MODEL] [--segments N] [--pairs en-de en-zh de-en]

DATA holds wmt22_general, packed or not. N translations of each pair (200) are drawn for each kind: human references that are
matched with their sources by text. Each is scored as it is and changed, with its source and without a reference.

errors     the share of translations that score above the same with the error:
           other language   the reference of the same source in another language
           copy             the source
           half             its first half, by words, or by characters in Chinese
           clause           one clause dropped, at any punctuation mark
           repetition       the whole text twice
           number           one digit changed
           other sentence   the translation of the next line
harmless   the share of changes that move the score by less than a quarter of the standard deviation over the translations:
           case             of the first letter
           quotes           straight ones to typographic ones, or the other way round
           full stop        removed from the end, or added there
"""

import argparse
import random
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from text_sets import lines_of

from ctx_metrics import COMET
from ctx_metrics.engine_options import EngineOptions

SEED = 7
SHORTEST = 25  # characters of a source; of fewer, a part is often all
MOVED = 0.25  # standard deviations
CJK = re.compile("[\u3400-\u9fff]")
CLAUSES = re.compile(r"(?<=[,;:.!?])\s+|(?<=[、，；：。！？])")
# references of other languages for the same sources, where there are some
OTHERS = {"en-de": ("en-zh", "en-ru", "en-cs"), "en-zh": ("en-de", "en-ru", "en-cs"), "de-en": ("de-fr",)}


def case(text: str, _: random.Random) -> str:
    return text[0].swapcase() + text[1:]


def quotes(text: str, _: random.Random) -> str:
    straight = re.sub("[„“”]", '"', text)
    if straight != text:
        return straight
    typographic = cycle("“”")
    return re.sub('"', lambda _: next(typographic), text)


def full_stop(text: str, _: random.Random) -> str:
    if text[-1] in ".。":
        return text[:-1]
    return text + ("。" if CJK.search(text) else ".") if text[-1].isalnum() else text


def half(text: str, _: random.Random) -> str:
    if CJK.search(text):
        return text[: len(text) // 2]
    words = text.split()
    return " ".join(words[: len(words) // 2])


def clause(text: str, draw: random.Random) -> str:
    parts = [part for part in CLAUSES.split(text) if part]
    if len(parts) > 1:
        del parts[draw.randrange(len(parts))]
    return ("" if CJK.search(text) else " ").join(parts)


def repetition(text: str, _: random.Random) -> str:
    return text + ("" if CJK.search(text) else " ") + text


def number(text: str, draw: random.Random) -> str:
    if not (places := [match.start() for match in re.finditer("[0-9]", text)]):
        return text
    place = draw.choice(places)
    return text[:place] + draw.choice([digit for digit in "123456789" if digit != text[place]]) + text[place + 1 :]


ERRORS: dict[str, Callable[[str, random.Random], str]] = {
    "half": half,
    "clause": clause,
    "repetition": repetition,
    "number": number,
}
HARMLESS: dict[str, Callable[[str, random.Random], str]] = {"case": case, "quotes": quotes, "full stop": full_stop}


def translations(folder: Path, pair: str) -> dict[str, str]:
    """The first reference of each distinct source, in the order of the lines."""
    source, target = pair.split("-")
    lines = lines_of(folder / "sources" / f"generaltest2022.{pair}.src.{source}")
    reference = min((folder / "references").glob(f"generaltest2022.{pair}.ref.*.{target}"))
    found: dict[str, str] = {}
    for text, translation in zip(lines, lines_of(reference), strict=True):
        if text.strip() and translation.strip():
            found.setdefault(text, translation)
    return found


def changed(folder: Path, pair: str, number: int) -> dict[str, list[tuple[str, str, str]]]:
    """For each kind, up to `number` of (source, translation, changed translation)."""
    draw = random.Random(f"{SEED} {pair}")
    own = [each for each in translations(folder, pair).items() if min(map(len, each)) >= 8 and len(each[0]) >= SHORTEST]
    others = [translations(folder, other) for other in OTHERS[pair]]
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for place in draw.sample(range(len(own) - 1), len(own) - 1):
        source, text = own[place]
        other = next((each[source] for each in others if source in each), draw.choice(list(others[0].values())))
        made = {"other language": other, "copy": source, "other sentence": own[place + 1][1]}
        made |= {kind: change(text, draw) for kind, change in {**ERRORS, **HARMLESS}.items()}
        for kind, each in made.items():
            if each != text and each.strip() and len(found[kind]) < number:
                found[kind].append((source, text, each))
    return found


def scores(model: str | None, pair: str, sources: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
    source, target = pair.split("-")
    options = EngineOptions(dtype="bf16", quiet=True)
    named = {} if model is None else {"model": model}
    languages = {"source_lang": source, "target_lang": target}
    metric = COMET(inputs="mt+src", sources=sources, references=[], engine=options, **languages, **named)
    return np.array([each.score for each in metric.segment_scores(hypotheses, None)])


def measured(folder: Path, pair: str, number: int, model: str | None) -> Iterator[tuple[str, list[bool]]]:
    """For each kind, whether each of its changes was seen, or overlooked if it is harmless."""
    found = changed(folder, pair, number)
    rows = [row for of_kind in found.values() for row in of_kind]
    sources = [source for source, _, _ in rows]
    clean, other = (scores(model, pair, sources, [row[column] for row in rows]) for column in (1, 2))
    spread, begin = clean.std(), 0
    for kind, of_kind in found.items():
        own = slice(begin, begin + len(of_kind))
        begin += len(of_kind)
        unmoved = abs(clean[own] - other[own]) < MOVED * spread
        yield kind, (unmoved if kind in HARMLESS else clean[own] > other[own]).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", help="default: the embedded model")
    parser.add_argument("--segments", type=int, default=200)
    parser.add_argument("--pairs", nargs="+", default=list(OTHERS), choices=list(OTHERS))
    args = parser.parse_args()
    seen: dict[str, dict[str, list[bool]]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as unpacked:
        for archive in (args.data / "wmt22_general").glob("*.tar.xz"):
            with tarfile.open(archive) as packed:
                packed.extractall(unpacked, filter="data")
        whole = Path(unpacked) / "wmt22_general"
        folder = (whole if whole.is_dir() else args.data / "wmt22_general") / "txt"
        for pair in args.pairs:
            for kind, found in measured(folder, pair, args.segments, args.model):
                seen[kind][pair] = found
    print(f"{'':16}{''.join(f'{pair:>8}' for pair in args.pairs)}{'all':>8}{'texts':>8}")
    harmless = [each for kind in HARMLESS for found in seen[kind].values() for each in found]
    for kind, of_pairs in sorted(seen.items(), key=lambda each: each[0] in HARMLESS):
        every = [each for found in of_pairs.values() for each in found]
        cells = "".join(f"{np.mean(of_pairs[pair]):8.3f}" if of_pairs.get(pair) else f"{'':8}" for pair in args.pairs)
        print(f"{kind:16}{cells}{np.mean(every):8.3f}{len(every):8}")
    print(f"{'harmless, all':16}{'':{8 * len(args.pairs)}}{np.mean(harmless):8.3f}{len(harmless):8}")


if __name__ == "__main__":
    main()
