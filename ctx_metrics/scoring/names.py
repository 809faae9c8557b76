"""The names under which metrics' scores are written and shown."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

EMBEDDED = re.compile(r"embedded-(alignment-regressor|unified|referenceless)\b")  # models of COMET and SLIDE


def signature_entries(signature: str) -> dict[str, str]:
    """Return the entries of a signature.

    >>> signature_entries("nrefs:1|case:mixed|version:2.6.0")
    {'nrefs': '1', 'case': 'mixed', 'version': '2.6.0'}
    """
    return dict(entry.partition(":")[::2] for entry in signature.split("|"))


def written_name(name: str, signature: str) -> str:
    """Return the name for a metric's scores in files: with "-embedded" if the embedded model computed them, so that no
    table calls them COMET.

    >>> written_name("comet", "nrefs:1|model:embedded-unified|ckpt:5"), written_name("comet", "nrefs:1|model:wmt22-comet-da")
    ('comet-embedded', 'comet')
    >>> written_name("comet-embedded-peers", "model:embedded-unified"), written_name("COMET", "model:embedded-unified")
    ('comet-embedded-peers', 'COMET-embedded')
    """
    if not EMBEDDED.match(signature_entries(signature).get("model", "")) or "-embedded" in name.lower():
        return name
    return re.sub(r"^\w+", r"\g<0>-embedded", name)


def name_in_files(name: str, metric: "Metric", signature: str) -> str:
    """Return the name of a metric's scores in every format that programs read.

    name    the metric's in the run, such as "comet" or, of one that scores twice, "comet:da"
    """
    own, colon, label = name.partition(":")
    return written_name(getattr(metric, "written_name", own) + colon + label, signature)


def shown_name(name: str) -> str:
    """Return a name from a file as tables show it.

    >>> shown_name("comet-embedded"), shown_name("comet-embedded-peers"), shown_name("human")
    ('COMET-embedded', 'COMET-embedded-peers', 'human')
    """
    return re.sub(r"^\w+(?=-embedded\b)", lambda found: found[0].upper(), name)
