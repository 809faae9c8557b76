"""Print the BibTeX entries of a metric's papers, and of its model.

ctx-metrics cite bertr bleu
ctx-metrics cite comet --comet-model Unbabel/wmt22-comet-da
ctx-metrics cite 'COMET|nrefs:1|model:Unbabel/wmt22-comet-da|rev:...'
"""

import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..notices import notice
from ..settings import CommandLine, setting

SUMMARY = "print the BibTeX of a metric's papers"

BIBLIOGRAPHY = Path(__file__).parent / "references.bib"
# for comet, the papers of all models that it may run, in case the model is not given
PAPERS = {
    "bertr": ["mathur-etal-2019-putting"],
    "bertscore": ["zhang-etal-2020-bertscore"],
    "bilstm": ["mathur-etal-2019-putting"],
    "bilstmatt": ["mathur-etal-2019-putting"],
    "esim": ["mathur-etal-2019-putting", "chen-etal-2017-enhanced"],
    "comet": [
        "rei-etal-2020-comet",
        "rei-etal-2022-comet",
        "rei-etal-2022-cometkiwi",
        "guerreiro-etal-2024-xcomet",
        "larionov-etal-2024-xcomet",
        "wan-etal-2022-unite",
        "zufle-etal-2025-comet",
    ],
    "slide": ["raunak-etal-2024-slide"],
    "doccomet": ["vernikos-etal-2022-embarrassingly"],
    "rttbleu": ["moon-etal-2020-revisiting"],
    "rttsentbleu": ["moon-etal-2020-revisiting"],
    "rttchrf": ["moon-etal-2020-revisiting"],
    "rttsbert": ["moon-etal-2020-revisiting", "reimers-gurevych-2019-sentence"],
    "rttbertscore": ["moon-etal-2020-revisiting", "zhang-etal-2020-bertscore"],
    "prsentbleu": ["yoshimura-etal-2019-filtering"],
    "prbleu": ["yoshimura-etal-2019-filtering"],
    "prchrf": ["yoshimura-etal-2019-filtering"],
    "pairwise": ["guzman-etal-2015-pairwise", "bradley-terry-1952-rank"],
    "metricx": ["juraska-etal-2024-metricx", "juraska-etal-2023-metricx"],
    "bleurt": ["sellam-etal-2020-bleurt", "pu-etal-2021-learning"],
    "judge": ["kocmi-federmann-2023-large", "junczys-dowmunt-2025-gemba", "kocmi-etal-2024-error"],
    "nist": ["doddington-2002-automatic"],
    "meteor": ["banerjee-lavie-2005-meteor", "denkowski-lavie-2011-meteor"],
    "bleu": ["papineni-etal-2002-bleu"],
    "chrf": ["popovic-2015-chrf"],
    "ter": ["snover-etal-2006-study"],
    "sacrebleu": ["post-2018-call"],
    "interference": ["pombal-etal-2025-adding"],
}

MULTILINGUAL = "^multilingual-e5"  # an encoder that any metric may use
# Patterns for a model's name in lower case, and the papers of that model; the first pattern that matches is used.
MODEL_PAPERS = {
    "^embedded": ["rei-etal-2020-comet", "mathur-etal-2019-putting", "reimers-gurevych-2019-sentence"],
    "xcomet-lite": ["larionov-etal-2024-xcomet", "guerreiro-etal-2024-xcomet"],
    "xcomet": ["guerreiro-etal-2024-xcomet"],
    "africomet": ["wang-etal-2024-afrimte"],
    "wmt23.*kiwi": ["rei-etal-2023-scaling"],
    "kiwi": ["rei-etal-2022-cometkiwi"],
    "unite": ["wan-etal-2022-unite"],
    "comet-poly": ["zufle-etal-2025-comet"],
    "wmt22-comet": ["rei-etal-2022-comet"],
    "wmt20-comet": ["rei-etal-2020-comet"],
    "metricx": PAPERS["metricx"],
    "bleurt": PAPERS["bleurt"],
    MULTILINGUAL: ["wang-etal-2024-multilingual"],
}
FRAMEWORK = ["rei-etal-2020-comet"]
WITH_MODEL = ("comet", "slide", "doccomet")


class CiteFlags(NamedTuple):
    metric: str
    model: str | None = None
    tuned: bool = False  # whether it scored outputs that it, or a related metric, had chosen


def asked(text: str) -> CiteFlags:
    """Return the request of an argument: it is a metric's name, or a signature that begins with its metric's name.

    >>> asked("Slide"), asked("COMET-embedded|nrefs:1|model:embedded-alignment-regressor|ckpt:14fc17326625|tuned:best")[:2]
    (CiteFlags(metric='slide', model=None, tuned=False), ('comet', 'embedded-alignment-regressor'))
    >>> asked("SLIDE-BLEURT nrefs:1|model:bleurt-d12")  # a line of the table of signatures
    CiteFlags(metric='slide', model='bleurt-d12', tuned=False)
    """
    name, *settings = re.sub(r"^(\S+)\s+", r"\1|", text.strip()).split("|")  # tables set the name apart by blanks
    if settings:
        # names shown with scores: chrF2, COMET-embedded, SLIDE-BLEURT
        name = re.sub(r"(2|2\+\+|-embedded|(?<=slide)-\w+)$", "", name, flags=re.IGNORECASE)
    if ":" in name:
        raise ArgumentTypeError(f"a signature must begin with its metric's name, such as comet|{text}")
    if name.lower() not in PAPERS:
        raise ArgumentTypeError(f"ctx-metrics has no papers of {name!r}; name one of {', '.join(PAPERS)}")
    keys = dict(setting.partition(":")[::2] for setting in settings)
    return CiteFlags(name.lower(), keys.get("model", keys.get("m")), not keys.keys().isdisjoint(("tuned", "tu")))


def _model(metric: str) -> Any:
    return setting(
        f"The model that {metric} used, by its name in that run; embedded is the default model.", metavar="MODEL"
    )


@dataclass(frozen=True)
class Citation:
    metrics: Sequence[CiteFlags] = setting(
        f"one or more of {', '.join(PAPERS)}; or the signature of a score, with the metric's name before it",
        flag="METRIC",
        nargs="+",
        type=asked,
    )
    comet_model: str | None = _model("comet")
    slide_model: str | None = _model("slide")
    doccomet_model: str | None = _model("doccomet")


FLAGS = [Citation]


def run(line: CommandLine) -> int:
    entries, wanted = bibliography(), line[Citation]
    models = {"comet": wanted.comet_model, "slide": wanted.slide_model, "doccomet": wanted.doccomet_model}
    for name, model in models.items():
        if model and name not in [each.metric for each in wanted.metrics]:
            line.error(f"--{name}-model is for {name}, which is not among the metrics")
    keys: dict[str, None] = {}
    for each in wanted.metrics:
        keys |= dict.fromkeys(papers(each.metric, each.model or models.get(each.metric)))
        keys |= dict.fromkeys(PAPERS["interference"] if each.tuned else ())
    print("\n\n".join(entries[key] for key in keys))
    return 0


def papers(metric: str, model: str | None) -> list[str]:
    if model and metric not in WITH_MODEL and re.search(MULTILINGUAL, model.lower()):
        return [*PAPERS[metric], *MODEL_PAPERS[MULTILINGUAL]]
    if metric not in WITH_MODEL or model is None:
        if metric == "comet":
            notice(
                "comet: these are the papers of all its models; name yours with --comet-model, or give the signature"
            )
        return PAPERS[metric]
    found = next((keys for pattern, keys in MODEL_PAPERS.items() if re.search(pattern, model.lower())), None)
    if found is None:
        notice(
            f"{metric}: ctx-metrics does not know the paper of the model {model}; cite it in addition to the paper of COMET"
        )
    elif model.startswith("embedded"):
        notice(
            f"{metric}: the embedded model belongs to ctx-metrics and is not a COMET model; these are the papers of "
            "its components"
        )
    return [*(PAPERS[metric] if metric != "comet" else []), *(FRAMEWORK if found is None else found)]


def bibliography() -> dict[str, str]:
    """Return the entries of references.bib by key, each with the comment above it. Empty lines separate the entries."""
    entries = {}
    for entry in BIBLIOGRAPHY.read_text(encoding="utf-8").strip().split("\n\n"):
        key = entry.partition("{")[2].partition(",")[0]
        entries[key] = entry
    return entries
