"""Real segments in 13 target languages, from the data that $CTX_METRICS_DATA names."""

import csv
import lzma
import tarfile
from itertools import islice
from pathlib import Path

EACH = 3  # segments of a pair
PAIRS = ("cs-uk", "de-fr", "en-de", "en-hr", "en-ja", "en-liv", "en-ru", "en-zh", "ru-sah", "uk-cs")
WITHOUT_REFERENCES = ("en-hi", "en-ta", "km-en")


def segments_of_languages(data: Path) -> list[tuple[str, str, str]]:
    """Sources, outputs and references. Where people wrote no references, the next segment's output serves as one."""
    found = []
    with tarfile.open(data / "wmt22_general" / "wmt22_general.tar.xz") as tar:
        files = {pair: {} for pair in PAIRS}
        for member in tar:
            folder, _, name = member.name.removeprefix("wmt22_general/txt/").partition("/")
            pair = name.split(".")[1] if name.count(".") > 2 else ""
            if pair in files and folder in ("sources", "references", "system-outputs") and folder not in files[pair]:
                files[pair][folder] = tar.extractfile(member).read().decode().splitlines()
    for own in files.values():
        lines = zip(own["sources"], own["system-outputs"], own["references"], strict=True)
        found += [each for each in lines if all(10 < len(text) < 200 for text in each)][:EACH]
    for pair in WITHOUT_REFERENCES:
        with lzma.open(data / "qe22_24" / f"{pair}.dev.tsv.xz", "rt", encoding="utf-8") as file:
            rows = list(islice(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), EACH))
        outputs = [row["mt"] for row in rows]
        found += zip([row["src"] for row in rows], outputs, outputs[1:] + outputs[:1], strict=True)
    assert len(found) == EACH * (len(PAIRS) + len(WITHOUT_REFERENCES))
    return found
