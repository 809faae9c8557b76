"""Published test sets as texts: sources, references and systems' outputs, with their languages.

DATA holds them as folders, packed or not: wmt13_rank, wmt15_16_da, wmt18_19_sys, wmt22_general, wmt22_mqm, doc_contrastive,
wmt24_esa as trees of text files, the others as tables; those that are not there are left out.
"""

import lzma
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class TestSet(NamedTuple):
    name: str
    systems: dict[str, list[str]]
    references: dict[str, list[str]]
    source: list[str] | None
    pair: str  # such as en-de; "" where all texts are in one language, English


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
        ("qe22_24", qe22_24),
        ("wmt24_esa", wmt24),
        ("wmt25_teacher", wmt25),
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
        yield TestSet(f"wmt13.{folder.name}", named(folder.iterdir()), {"ref": target}, source, folder.name)


def wmt15_16(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("*/*.mt-system.*")):
        start, pair = path.name.split(".mt-system.")
        reference, source = (lines_of(path.with_name(f"{start}.{what}.{pair}")) for what in ("reference", "source"))
        yield TestSet(f"{start}.{pair}", named([path]), {"ref": reference}, source, pair)


def wmt18_19(root: Path) -> Iterator[TestSet]:
    for folder in sorted(root.glob("WMT*/system-outputs/*")):
        base, (source, target) = folder.parent.parent, folder.name.split("-")
        start = f"newstest20{base.name[-2:]}-{source}{target}"
        texts = base / f"source/{start}-src.{source}"
        references = there(base / f"references/{start}-ref.{target}")
        name = f"wmt{base.name[-2:]}.{folder.name}"
        read = lines_of(texts) if texts.exists() else None
        yield TestSet(name, named(folder.iterdir()), references, read, folder.name)


def wmt22_general(root: Path) -> Iterator[TestSet]:
    for path in sorted((root / "txt/sources").iterdir()):
        start = ".".join(path.name.split(".")[:2])
        systems, references = ((root / f"txt/{what}").glob(f"{start}.*") for what in ("system-outputs", "references"))
        name, pair = start.replace("generaltest2022", "general22"), start.split(".")[1]
        yield TestSet(name, named(systems), named(references), lines_of(path), pair)


def wmt22_mqm(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("*/sources/*.txt")):
        systems = named((path.parent.parent / "system-outputs").rglob("*.txt"))
        references = named((path.parent.parent / "references").glob("*.txt"))
        yield TestSet(f"mqm22.{path.stem}", systems, references, lines_of(path), path.parent.parent.name)


def contrastive(root: Path) -> Iterator[TestSet]:
    texts = root / "pro_mistranslations/data"
    for test_set, corrupted in (("newstest2021", "*news*"), ("generaltest2022", "*general*")):
        references = named((texts / "references").glob(f"{test_set}*"))
        systems = named((texts / "perturbed_refs").glob(corrupted))
        yield TestSet(
            f"pro.{test_set}", systems, references, lines_of(texts / f"sources/{test_set}.en-de.src.en"), "en-de"
        )
    for path in sorted((root / "bawden/test-sets").glob("*.fr")):
        yield TestSet(f"bawden.{path.stem}", named([path]), {}, lines_of(path.with_suffix(".en")), "en-fr")


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
            name = path.name.removesuffix(".tsv.xz")
            yield TestSet(f"{name} {system}", {system: mt}, {"ref": ref}, src, name.split(".")[-1])


def _table(path: Path, systems: tuple[str, ...], reference: str | None, source: str | None, pair: str = "") -> TestSet:
    rows, at = columns(path)
    rows = [row for row in rows if len(row) == len(at)]
    texts = {name: [row[at[name]] for row in rows] for name in (*systems, *filter(None, (reference, source)))}
    name = f"{path.parent.name}.{path.name.removesuffix('.xz')}"
    references = {"ref": texts[reference]} if reference else {}
    return TestSet(name, {each: texts[each] for each in systems}, references, texts.get(source or ""), pair)


def darr(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("better", "worse"), "ref", "src", path.name[:5]) for path in sorted(root.glob("*.tsv.xz")))


def mlqe(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("mt",), "pe", "src", path.name[:5]) for path in sorted(root.glob("*.tsv.xz")))


def paws(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("sentence1",), "sentence2", None) for path in sorted(root.glob("*.tsv.xz")))


def paraphrases(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("msr*.txt.xz")):
        yield _table(path, ("#1 String",), "#2 String", None)
    for path in sorted(root.glob("sts-*.csv.xz")):
        rows = [line.split("\t") for line in lines_of(path)]
        yield TestSet(path.name, {"s1": [row[5] for row in rows]}, {"ref": [row[6] for row in rows]}, None, "")


def qe22_24(root: Path) -> Iterator[TestSet]:
    return (_table(path, ("mt",), None, "src", path.name[:5]) for path in sorted(root.glob("*.tsv.xz")))


def wmt24(root: Path) -> Iterator[TestSet]:
    for path in sorted(root.glob("sources/*.txt")):
        systems = named((root / "system-outputs" / path.stem).glob("*.txt"))
        references = named((root / "references").glob(f"{path.stem}.*"))
        yield TestSet(f"wmt24.{path.stem}", systems, references, lines_of(path), path.stem)


def wmt25(root: Path) -> Iterator[TestSet]:
    """The outputs of 2025; the challenge set condrift, whose texts are made to drift, is left out."""
    by_system = defaultdict(list)
    rows, at = columns(root / "wmt25_teacher.tsv.xz")
    for row in rows:
        by_system[row[at["lp"]], row[at["system"]]].append(row)
    for (pair, system), own in by_system.items():
        mt, src = ([row[at[what]] for row in own] for what in ("mt", "src"))
        yield TestSet(f"wmt25.{pair} {system}", {system: mt}, {}, src, pair)
