"""Human judgements of translations, read from the layouts that WMT and Google publish."""

import lzma
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Optional

from ..errors import InputError


class Judgement(NamedTuple):
    """One human score of one output. Scores are comparable within a data set only, where higher is better.

    dataset    such as "wmt16.cs-en"; system, document, segment    where known; segment counts within the data set
    """

    hypothesis: str
    reference: str
    score: float
    dataset: str
    system: Optional[str] = None
    document: Optional[str] = None
    segment: int = 0


def text_lines(content: str) -> list[str]:
    """Lines that end at "\\n" only."""
    lines = content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_da(archive: Path, year: str, pairs: Iterable[str]) -> list[Judgement]:
    """Segment direct assessment of WMT15/16 from the tar archive of DAseg folders.

    Files are DAseg-wmt-newstest<YEAR>/DAseg.newstest<YEAR>.{mt-system,reference,human}.<pair>, one segment a line.
    """
    judgements = []
    with tarfile.open(archive) as tar:
        members = {name.rsplit("/", 1)[-1]: name for name in tar.getnames()}
        for pair in pairs:

            def lines(kind):
                file = f"DAseg.newstest{year}.{kind}.{pair}"
                if file not in members:
                    raise InputError(f"{archive} does not hold {file}")
                return text_lines(tar.extractfile(members[file]).read().decode("utf-8"))

            rows = zip(lines("mt-system"), lines("reference"), lines("human"), strict=True)
            judgements += [
                Judgement(hypothesis, reference, float(score), f"wmt{year[2:]}.{pair}", segment=i)
                for i, (hypothesis, reference, score) in enumerate(rows)
            ]
    return judgements


def read_mqm_tsv(path: Path) -> list[Judgement]:
    """MQM of one campaign from a TSV (.tsv or .tsv.xz) with the columns system, doc, seg_in_doc, ref, mt, mqm.

    `mqm` is minus the mean penalty of a segment. Human translations among the systems are left out.
    """
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        header, *rows = [line.split("\t") for line in text_lines(file.read())]
    numbers: dict[tuple, int] = {}
    judgements = []
    for row in (dict(zip(header, fields, strict=True)) for fields in rows):
        segment = numbers.setdefault((row["doc"], row["seg_in_doc"]), len(numbers))
        judgements.append(
            Judgement(
                row["mt"], row["ref"], float(row["mqm"]), path.name.split(".tsv")[0], row["system"], row["doc"], segment
            )
        )
    return [each for each in judgements if not is_human(each.system)]


def is_human(system: str) -> bool:
    """Whether WMT names a human translation so (Human-A, refB, ...)."""
    return system.lower().startswith(("human", "ref"))


def read_mqm_tree(archive: Path, pair: str) -> tuple[list[Judgement], dict[str, float]]:
    """WMT22 MQM of a language pair from the mt-metrics-eval tree in a tar archive: refA as reference, MT systems alone.

    Returns the judgements of all segments (score NaN where nobody judged one) and each system's official score.
    """
    with tarfile.open(archive) as tar:
        members = {"/".join(name.split("/")[-3:]): name for name in tar.getnames()}

        def lines(name):
            return text_lines(tar.extractfile(members[f"{pair}/{name}"]).read().decode("utf-8"))

        references = lines(f"references/{pair}.refA.txt")
        documents = [line.split("\t")[1] for line in lines(f"documents/{pair}.docs")]
        of_system = {
            system: float(score)
            for system, score in (line.split("\t") for line in lines(f"human-scores/{pair}.mqm.sys.score"))
            if not is_human(system) and score != "None"
        }
        scores: dict[str, list[float]] = {}
        for line in lines(f"human-scores/{pair}.mqm.seg.score"):
            system, score = line.split("\t")
            scores.setdefault(system, []).append(float("nan") if score == "None" else float(score))
        judgements = []
        for system in of_system:
            rows = zip(lines(f"system-outputs/{system}.txt"), references, scores[system], documents, strict=True)
            judgements += [
                Judgement(hypothesis, reference, score, f"wmt22.{pair}", system, document, i)
                for i, (hypothesis, reference, score, document) in enumerate(rows)
            ]
    return judgements, of_system
