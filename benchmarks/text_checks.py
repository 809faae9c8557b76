"""What do the checks of texts find? Nothing in published texts, and what was done to them: moved lines, copies, exchanges.

    python benchmarks/text_checks.py DATA [--checks shifts faults] [--sets wmt19 general22 ...] [--moved N] [--seed N]

DATA holds published sets as text_sets.py reads them.

shifts    prints the shifted lines that are found in the texts as they are (references and systems that were published
          shifted are marked), then the share of blocks that is found after one line was dropped and one was added some lines
          later, or the other way round, by the block's length and by chrF (N systems of each set, drawn), and what the check
          costs beside chrF
faults    prints the notices on copies of the source, other languages and repetitions in the texts as they are, what is found
          in single segments of them, and what is found of files and segments that were exchanged for others
"""

import argparse
import random
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from sacrebleu.metrics import CHRF
from text_faults import Faults
from text_sets import TestSet, read_sets

from ctx_metrics.checks.line_shifts import Shift, shifts

LENGTHS = (5, 10, 20, 50, None)  # None: to the end of the file
CHRF_LINES = 300
BANDS = (0, 20, 30, 40, 50, 60, 100)
# Read line by line: these are shifted where they were published. A set, a stream of it, and the lines, from 1.
PUBLISHED = {
    ("wmt19.en-gu", "ref"): [(209, 233)],
    ("wmt19.fi-en", "newstest2019.USYD.6995.fi-en"): [(89, 98)],
    ("wmt21.news.en-ru ref.B", "ref.B"): [(393, 404)],
    ("wmt21.news.zh-en metricsystem5", "metricsystem5"): [(15, 25), (112, 120), (320, 324)],
    ("wmt21.ted.zh-en metricsystem5", "metricsystem5"): [(181, 199)],
}


def published(name: str, streams: tuple[str, str], shift: Shift) -> bool:
    """Whether what was found is among what is known to be shifted."""
    places = [place for stream in streams for place in PUBLISHED.get((name, stream), [])]
    return any(shift.first < last and first <= shift.last + 1 for first, last in places)


def move(lines: list[str], place: int, length: int | None, rng: random.Random) -> tuple[list[str], Shift]:
    """The lines with one dropped at a place and one added behind the block, or added and dropped; with what that shifts."""
    end = min(place + (length or len(lines)), len(lines) - 1)
    fill = rng.choice(["", None])  # an empty line, or a neighbour a second time
    if rng.random() < 0.5:
        added = lines[end] if fill is None else fill
        return [*lines[:place], *lines[place + 1 : end + 1], added, *lines[end + 1 :]], Shift(place, end - 1, 1)
    added = lines[place] if fill is None else fill
    return [*lines[:place], added, *lines[place:end], *lines[end + 1 :]], Shift(place + 1, end, -1)


def overlap(found: Shift, made: Shift) -> bool:
    """Whether a block was found: the same offset, and half of the lines of both together."""
    common = min(found.last, made.last) - max(found.first, made.first) + 1
    whole = max(found.last, made.last) - min(found.first, made.first) + 1
    return found.offset == made.offset and 2 * common >= whole


def print_table(title: str, outcomes: dict[tuple[int, int | None], list[bool]]) -> None:
    print(f"\n{title}\n")
    print("| chrF | systems | " + " | ".join("to the end" if n is None else str(n) for n in LENGTHS) + " |")
    print("|---" * (len(LENGTHS) + 2) + "|")
    bands = [*pairwise(BANDS), (BANDS[0], BANDS[-1])]
    for low, high in bands:
        rows = {n: [ok for band in BANDS if low <= band < high for ok in outcomes.get((band, n), [])] for n in LENGTHS}
        if rows[LENGTHS[0]]:
            shares = " | ".join(f"{100 * sum(row) / len(row):.1f}" for row in rows.values())
            print(f"| {'all' if high - low == 100 else f'{low}-{high}'} | {len(rows[LENGTHS[0]])} | {shares} |")


class Moves:
    """Shifted lines that are found; `add` each set, then `report`."""

    def __init__(self, moved: int, seed: int):
        self.systems, self.rng = moved, random.Random(seed)
        self.streams = self.lines = self.wrong = self.known = 0
        self.found = {False: defaultdict(list), True: defaultdict(list)}
        self.seconds = {"check": 0.0, "chrF": 0.0}

    def add(self, each: TestSet) -> None:
        name, systems, references, source, _ = each
        hubs = [(other, texts, False) for other, texts in references.items()]
        hubs += [] if source is None else [("source", source, True)]
        pairs = [(system, texts, *hub) for system, texts in systems.items() for hub in hubs]
        pairs += [(other, texts, *hub) for other, texts in references.items() for hub in hubs if hub[0] != other]
        self.streams, self.lines = self.streams + len(systems), self.lines + sum(map(len, systems.values()))
        quality = {}
        if references:
            first = next(iter(references.values()))[:CHRF_LINES]
            for system in self.rng.sample(sorted(systems), min(self.systems, len(systems))):
                quality[system] = CHRF().corpus_score(systems[system][:CHRF_LINES], [first]).score
        for system, texts, hub, others, translated in pairs:
            for shift in shifts(texts, others, translated):
                is_known = published(name, (system, hub), shift)
                self.known, self.wrong = self.known + is_known, self.wrong + (not is_known)
                say = "known" if is_known else "WRONG"
                lines = f"{shift.first + 1}-{shift.last + 1} {shift.offset:+d}"
                print(f"{say}: {name}: {system} against {hub}: lines {lines}")
            if system not in quality:
                continue
            band = next(low for low, high in pairwise(BANDS) if quality[system] <= high)
            for length in LENGTHS:
                moved, made = move(texts, self.rng.randrange(max(1, len(texts) - 60)), length, self.rng)
                outcome = any(overlap(shift, made) for shift in shifts(moved, others, translated))
                self.found[translated][band, length].append(outcome)
        if len(systems) >= 10 and references and not self.seconds["check"]:  # 1,000 lines of 10 systems
            others = next(iter(references.values()))[:1000]
            timed = [texts[:1000] for texts in list(systems.values())[:10]]
            for what, function in (("check", shifts), ("chrF", lambda a, b: CHRF().corpus_score(a, [b]))):
                start = time.process_time()
                for texts in timed:
                    function(texts, others)
                self.seconds[what] = time.process_time() - start

    def report(self) -> None:
        print(
            f"\n{self.streams:,} systems, {self.lines:,} lines as they are: "
            f"{self.wrong} wrong, {self.known} known shifts found"
        )
        print_table("Found of moved lines, %, against references, by the block's length", self.found[False])
        print_table("Found of moved lines, %, against sources, by the block's length", self.found[True])
        print(f"\n1,000 lines of 10 systems: {self.seconds['check']:.2f} s, chrF {self.seconds['chrF']:.2f} s (CPU)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--checks", nargs="+", choices=("shifts", "faults"), default=("shifts", "faults"))
    parser.add_argument("--sets", nargs="+", default=[""], help="beginnings of sets' names")
    parser.add_argument("--moved", type=int, default=3, metavar="N", help="systems of a set whose lines are moved")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    made = {"shifts": lambda: Moves(args.moved, args.seed), "faults": lambda: Faults(args.seed)}
    checks = [made[name]() for name in args.checks]
    for each in read_sets(args.data):
        if each.name.startswith(tuple(args.sets)):
            for check in checks:
                check.add(each)
    for check in checks:
        check.report()


if __name__ == "__main__":
    main()
