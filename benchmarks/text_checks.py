"""Are shifted lines found, and nothing where lines are aligned? Real outputs, with one line moved and as they are.

    python benchmarks/text_checks.py DATA [--sets wmt19 general22 ...] [--moved N] [--seed N]

DATA holds published sets as folders, packed or not: wmt13_rank, wmt15_16_da, wmt18_19_sys, wmt22_general, wmt22_mqm,
doc_contrastive as trees of text files, wmt20_21_mqm, wmt19_darr, mlqe_pe, paraphrase and paws_qqp as tables; those that are
not there are left out. Prints what is found in the texts as they are (references and systems that were published shifted are
marked), then the share of blocks that is found after one line was dropped and one was added some lines later, or the other
way round, by the block's length and by chrF (N systems of each set, drawn), and what the check costs beside chrF.
"""

import argparse
import lzma
import random
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sacrebleu.metrics import CHRF

from ctx_metrics.run.line_shifts import Shift, shifts

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


class TestSet(NamedTuple):
    name: str
    systems: dict[str, list[str]]
    references: dict[str, list[str]]
    source: list[str] | None


def lines_of(path: Path) -> list[str]:
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    return [line.rstrip() for line in (lines[:-1] if lines[-1] == "" else lines)]


def read_sets(data: Path) -> Iterator[TestSet]:
    for name, read in (
        ("wmt13_rank", wmt13),
        ("wmt15_16_da", wmt15_16),
        ("wmt18_19_sys", wmt18_19),
        ("wmt22_general", wmt22_general),
        ("wmt22_mqm", wmt22_mqm),
        ("doc_contrastive", contrastive),
        ("wmt20_21_mqm", mqm_tables),
        ("wmt19_darr", darr),
        ("mlqe_pe", mlqe),
        ("paraphrase", paraphrases),
        ("paws_qqp", paws),
    ):
        folder = data / name
        if not folder.is_dir():
            continue
        with tempfile.TemporaryDirectory() as unpacked:
            for archive in folder.glob("*.tar.xz"):
                with tarfile.open(archive) as packed:
                    packed.extractall(unpacked, filter="data")
            inner = Path(unpacked) / name
            yield from read(inner if inner.is_dir() else folder)


def named(paths) -> dict[str, list[str]]:
    return {path.name: lines_of(path) for path in sorted(paths)}


def there(path: Path) -> dict[str, list[str]]:
    return {"ref": lines_of(path)} if path.exists() else {}


def wmt13(root: Path) -> Iterator[TestSet]:
    for folder in sorted((root / "newstest2013").iterdir()):
        source, target = (lines_of(root / f"references/newstest2013-ref.{code}") for code in folder.name.split("-"))
        yield TestSet(f"wmt13.{folder.name}", named(folder.iterdir()), {"ref": target}, source)


def wmt15_16(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("*/*.mt-system.*")):
        start, pair = path.name.split(".mt-system.")
        reference, source = (lines_of(path.with_name(f"{start}.{what}.{pair}")) for what in ("reference", "source"))
        yield TestSet(f"{start}.{pair}", named([path]), {"ref": reference}, source)


def wmt18_19(root: Path) -> Iterator[TestSet]:
    for folder in sorted(root.glob("WMT*/system-outputs/*")):
        base, (source, target) = folder.parent.parent, folder.name.split("-")
        start = f"newstest20{base.name[-2:]}-{source}{target}"
        texts = base / f"source/{start}-src.{source}"
        references = there(base / f"references/{start}-ref.{target}")
        name = f"wmt{base.name[-2:]}.{folder.name}"
        yield TestSet(name, named(folder.iterdir()), references, lines_of(texts) if texts.exists() else None)


def wmt22_general(root: Path) -> Iterator[TestSet]:
    for path in sorted((root / "txt/sources").iterdir()):
        start = ".".join(path.name.split(".")[:2])
        systems, references = ((root / f"txt/{what}").glob(f"{start}.*") for what in ("system-outputs", "references"))
        yield TestSet(start.replace("generaltest2022", "general22"), named(systems), named(references), lines_of(path))


def wmt22_mqm(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("*/sources/*.txt")):
        systems = named((path.parent.parent / "system-outputs").rglob("*.txt"))
        references = named((path.parent.parent / "references").glob("*.txt"))
        yield TestSet(f"mqm22.{path.stem}", systems, references, lines_of(path))


def contrastive(root: Path) -> Iterator[TestSet]:
    texts = root / "pro_mistranslations/data"
    for test_set, corrupted in (("newstest2021", "*news*"), ("generaltest2022", "*general*")):
        references = named((texts / "references").glob(f"{test_set}*"))
        systems = named((texts / "perturbed_refs").glob(corrupted))
        yield TestSet(f"pro.{test_set}", systems, references, lines_of(texts / f"sources/{test_set}.en-de.src.en"))
    for path in sorted((root / "bawden/test-sets").glob("*.fr")):
        yield TestSet(f"bawden.{path.stem}", named([path]), {}, lines_of(path.with_suffix(".en")))


def columns(path: Path) -> tuple[list[list[str]], dict[str, int]]:
    first, *rows = (line.split("\t") for line in lines_of(path))
    return rows, {name: i for i, name in enumerate(first)}


def mqm_tables(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("*.tsv.xz")):
        rows, at = columns(path)
        by_system = defaultdict(list)
        for row in rows:
            by_system[row[at["system"]]].append(row)
        for system, own in by_system.items():
            mt, ref, src = ([row[at[what]] for row in own] for what in ("mt", "ref", "src"))
            yield TestSet(f"{path.name.removesuffix('.tsv.xz')} {system}", {system: mt}, {"ref": ref}, src)


def _table(path: Path, systems: tuple[str, ...], reference: str, source: str | None) -> TestSet:
    rows, at = columns(path)
    rows = [row for row in rows if len(row) == len(at)]
    texts = {name: [row[at[name]] for row in rows] for name in (*systems, reference, *([source] if source else []))}
    name = f"{path.parent.name}.{path.name.removesuffix('.xz')}"
    return TestSet(name, {each: texts[each] for each in systems}, {"ref": texts[reference]}, texts.get(source))


def darr(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("better", "worse"), "ref", "src") for path in sorted(root.glob("*.tsv.xz")))


def mlqe(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("mt",), "pe", "src") for path in sorted(root.glob("*.tsv.xz")))


def paws(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("sentence1",), "sentence2", None) for path in sorted(root.glob("*.tsv.xz")))


def paraphrases(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("msr*.txt.xz")):
        yield _table(path, ("#1 String",), "#2 String", None)
    for path in sorted(root.glob("sts-*.csv.xz")):
        rows = [line.split("\t") for line in lines_of(path)]
        yield TestSet(path.name, {"s1": [row[5] for row in rows]}, {"ref": [row[6] for row in rows]}, None)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=[""], help="beginnings of sets' names")
    parser.add_argument("--moved", type=int, default=3, metavar="N", help="systems of a set whose lines are moved")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    streams = lines = wrong = known = 0
    found = {False: defaultdict(list), True: defaultdict(list)}
    seconds = {"check": 0.0, "chrF": 0.0}
    for name, systems, references, source in read_sets(args.data):
        if not name.startswith(tuple(args.sets)):
            continue
        hubs = [(each, texts, False) for each, texts in references.items()]
        hubs += [] if source is None else [("source", source, True)]
        pairs = [(each, texts, *hub) for each, texts in systems.items() for hub in hubs]
        pairs += [(each, texts, *hub) for each, texts in references.items() for hub in hubs if hub[0] != each]
        streams, lines = streams + len(systems), lines + sum(map(len, systems.values()))
        quality = {}
        if references:
            first = next(iter(references.values()))[:CHRF_LINES]
            for system in rng.sample(sorted(systems), min(args.moved, len(systems))):
                quality[system] = CHRF().corpus_score(systems[system][:CHRF_LINES], [first]).score
        for system, texts, hub, others, translated in pairs:
            for shift in shifts(texts, others, translated):
                is_known = published(name, (system, hub), shift)
                known, wrong = known + is_known, wrong + (not is_known)
                say = "known" if is_known else "WRONG"
                print(
                    f"{say}: {name}: {system} against {hub}: lines {shift.first + 1}-{shift.last + 1} {shift.offset:+d}"
                )
            if system not in quality:
                continue
            band = next(low for low, high in pairwise(BANDS) if quality[system] <= high)
            for length in LENGTHS:
                moved, made = move(texts, rng.randrange(max(1, len(texts) - 60)), length, rng)
                outcome = any(overlap(each, made) for each in shifts(moved, others, translated))
                found[translated][band, length].append(outcome)
        if len(systems) >= 10 and references:  # 1,000 lines of 10 systems
            others = next(iter(references.values()))[:1000]
            timed = [texts[:1000] for texts in list(systems.values())[:10]]
            for what, function in (("check", shifts), ("chrF", lambda a, b: CHRF().corpus_score(a, [b]))):
                if not seconds[what]:
                    start = time.process_time()
                    for texts in timed:
                        function(texts, others)
                    seconds[what] = time.process_time() - start
    print(f"\n{streams:,} systems, {lines:,} lines as they are: {wrong} wrong, {known} known shifts found")
    print_table("Found of moved lines, %, against references, by the block's length", found[False])
    print_table("Found of moved lines, %, against sources, by the block's length", found[True])
    print(f"\n1,000 lines of 10 systems: {seconds['check']:.2f} s, chrF {seconds['chrF']:.2f} s (CPU)")


if __name__ == "__main__":
    main()
