"""The report on a trained quality model: its card, its learning curve, and the commands that use it."""

import shlex
from collections.abc import Mapping, Sequence

from ...judgements.readers.rows import language_pair
from ...plots.figure import Figure
from .. import card as cards
from ..curve import learning_curve
from ..data import Source
from .learn import TrainingResult

TITLES = {"bilstm": "BiLSTM", "bilstmatt": "BiLSTM with attention", "esim": "ESIM", "comet": "alignment regressor"}
METRICS = {"pearson": "Pearson's r", "darr": "tau (DARR)"}


def card(name: str, kind: str, trained: TrainingResult, sources: Mapping[str, Sequence[Source]]) -> str:
    """Return the Markdown card of a model whose `kind` is bilstm, bilstmatt, esim or comet."""
    config, of_development = trained.config, trained.config["development"]
    known = map(language_pair, of_development["sets"])
    unified = config.get("model_type") == "ctx-unified"
    facts = {
        "name": name,
        "sources": sources,
        "kind": kind,
        "title": "unified quality model" if unified else TITLES[kind],
        "metric": METRICS[of_development["metric"]],
        "pairs": sorted({f"{source}-{target}" for source, target in known if source}),
        "uses": uses(kind, name, config["inputs"]),
    }
    encoder = "with the changes in the file" if unified else "not trained"
    commands = "\n    ".join(config["commands"])
    return cards.card(__package__, trained, commands, facts, encoder)


def curve(trained: TrainingResult, name: str) -> Figure:
    points = [(check.rows, check.loss, check.score) for check in trained.checks]
    labels = "rows read", "training loss", f"development\n{METRICS[trained.config['development']['metric']]}"
    return learning_curve(points, trained.best, labels, f"{name}: best of {len(points)} checks")


def uses(kind: str, folder: str, inputs: str = "mt+ref") -> list[str]:
    """Return the commands that score with a model.

    >>> uses("esim", "my model")
    ["sacrebleu REF -i HYP -m esim --esim-model 'my model'"]
    """
    folder = shlex.quote(folder)
    if kind == "comet":
        sources = "" if inputs == "mt+ref" else " --source SOURCE"
        reference = "SOURCE" if inputs == "mt+src" else "REF"
        return [f"sacrebleu {reference} -i HYP{sources} -m {m} --{m}-model {folder}" for m in ("comet", "slide")]
    if inputs == "mt+src":
        return [f"ctx-metrics score -s SOURCE -t HYP -m {kind} --{kind}-model {folder}"]
    return [f"sacrebleu REF -i HYP -m {kind} --{kind}-model {folder}"]
