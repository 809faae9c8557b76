"""The card of a trained model, README.md in its folder: what it is, what it learned from, and how well it did."""

import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from ..judgements.readers.rows import language_pair
from .quality.task import Check

TITLES = {"bilstm": "BiLSTM", "bilstmatt": "BiLSTM with attention", "esim": "ESIM", "comet": "alignment regressor"}
METRICS = {"pearson": "Pearson's r", "darr": "tau (DARR)"}
CHECKS_SHOWN = 40
NETWORK = """\
One of the networks of Mathur, Baldwin and Cohn (2019), "Putting Evaluation in Context: Contextual Embeddings Improve Machine
Translation Evaluation" (ACL 2019), over frozen embeddings: it reads the encoder's states of all tokens of {texts},
and predicts a human score."""
REGRESSOR = """\
A small regressor over a frozen encoder, for the metrics `comet` and `slide`: it reads how well the tokens of
{texts} align, and their pooled vectors, and predicts a human score. It is not a COMET checkpoint and must not be reported as
one."""


class Source(NamedTuple):
    """One path of the data.

    name      the last part of the path
    sha256    of its bytes, as data.data_sha256 gives it
    weight    of its rows; None for development data
    counts    {"rows": all that were read, "kept": ..., "without a score": ..., ...}
    """

    name: str
    sha256: str
    weight: float | None
    counts: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The same for config.json."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"name": self.name, "sha256": self.sha256, **weight, **self.counts}


def card(
    name: str,
    kind: str,
    config: Mapping[str, Any],
    checks: Sequence[Check],
    training: Sequence[Source],
    development: Sequence[Source],
    argv: Sequence[str],
) -> str:
    """The Markdown of a model's card.

    name       of its folder;  kind    bilstm, bilstmatt, esim or comet
    config     what its config.json says;  checks    all looks at the development data
    argv       the command's arguments
    """
    reference = config["inputs"] == "mt+ref"
    texts = f"the translation and its {'reference' if reference else 'source'}"
    metric = METRICS[config["development"]["metric"]]
    learned = config["training"]
    recipe = {key: value for key, value in learned.items() if key not in ("rows", "init")}
    started = f" It started from the weights of {learned['init']}." if learned["init"] else ""
    sets = [(each, f"{score:.4f}") for each, score in config["development"]["sets"].items()]
    sections = [
        f"# {name}: {TITLES[kind]}",
        (REGRESSOR if kind == "comet" else NETWORK).format(texts=texts),
        "## Use",
        "".join(f"    {line}\n" for line in use(kind, name, config["inputs"])).rstrip("\n"),
        "## What it reads",
        table(
            ("", ""),
            [
                ("encoder", f"{os.path.basename(config['encoder'].rstrip('/')) or config['encoder']}, not trained"),
                ("encoder's weights (sha256)", f"{config['encoder_ckpt']}..."),
                ("layers", ", ".join(map(str, config["layers"]))),
                ("inputs", f"{config['inputs']}: {texts}"),
                ("tokens kept of a text", str(config["max_length"])),
                ("languages", ", ".join(config["languages"]) if config["languages"] else "those of the encoder"),
                *((f"network: {key}", str(value)) for key, value in config["network"].items()),
            ],
        ),
        "## What it learned from",
        f"{learned['rows']:,} rows; targets are {_targets(config['targets'])}.{started} The sha256 of a path is that of its "
        "bytes; of a folder, that of the list of its files' hashes.",
        sources(training),
        "## Recipe",
        table(("setting", "value"), [(key, "none" if value is None else str(value)) for key, value in recipe.items()]),
        f"    {command(argv)}",
        "## Agreement with people on the development data",
        f"{metric}, on data that was not trained on but chose the weights, which makes it a little optimistic.",
        sources(development),
        table(("set", metric), [*sets, ("mean", f"{config['development']['score']:.4f}")]),
        _checks(checks, config["development"]["step"], metric),
        "## Limits",
        _limits(kind, config),
        "## Made with",
        ", ".join(
            f"{package} {version(package)}"
            for package in ("ctx-metrics", "torch", "tokenizers", "safetensors", "numpy")
        )
        + f", Python {platform.python_version()}.",
    ]
    return "\n\n".join(sections) + "\n"


def use(kind: str, folder: str, inputs: str) -> list[str]:
    """The commands that score with a model.

    >>> use("esim", "my model", "mt+ref")
    ["sacrebleu REF -i HYP -m esim --esim-model 'my model'"]
    """
    folder = shlex.quote(folder)
    if kind == "comet":
        return [f"sacrebleu REF -i HYP -m {name} --{name}-model {folder}" for name in ("comet", "slide")]
    if inputs == "mt+src":
        return [f"ctx-metrics score -s SOURCE -t HYP -m {kind} --{kind}-model {folder}"]
    return [f"sacrebleu REF -i HYP -m {kind} --{kind}-model {folder}"]


def command(argv: Sequence[str]) -> str:
    """The command line, where whole paths give way to their last parts.

    >>> command(["esim", "--train", "/home/me/da.tsv:0.5", "--dev", "data/dev.tsv", "--out=/models/my esim"])
    "ctx-metrics train esim --train da.tsv:0.5 --dev data/dev.tsv '--out=my esim'"
    """
    words = []
    for word in argv:
        flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if os.path.isabs(value) or value.startswith("~"):
            value = os.path.basename(value.rstrip("/"))
        words.append(f"{flag}{equals}{value}")
    return shlex.join(["ctx-metrics", "train", *words])


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sources(paths: Sequence[Source]) -> str:
    """What the data is, a line a path."""
    weighted = any(path.weight is not None for path in paths)
    rows = []
    for path in paths:
        left = [f"{n:,} {why}" for why, n in path.counts.items() if why not in ("rows", "kept")]
        weight = [f"{path.weight:g}"] if weighted else []
        rows.append(
            [path.name, *weight, f"{path.counts['rows']:,}", f"{path.counts['kept']:,}", ", ".join(left), path.sha256]
        )
    return table(["path", *["weight"] * weighted, "rows", "used", "of which, or left out", "sha256"], rows)


def _checks(checks: Sequence[Check], step: int, metric: str) -> str:
    """The checks' table; of many, some evenly over all and the best."""
    every = -(-len(checks) // CHECKS_SHOWN)
    shown = [check for number, check in enumerate(checks) if number % every == 0 or check.step == step]
    said = "" if every == 1 else f"\n\n{len(shown)} of {len(checks)} checks; checks.jsonl has all."
    rows = [
        (
            f"{check.rows:,}",
            str(check.epoch),
            f"{check.loss:.4f}",
            f"**{check.score:.4f}**" if check.step == step else f"{check.score:.4f}",
            f"{check.learning_rate:.2g}",
        )
        for check in shown
    ]
    return table(("rows read", "epoch", "loss", metric, "learning rate"), rows) + said


def _targets(targets: Mapping[str, Any]) -> str:
    """What was learned, in words."""
    if "teacher" in targets:
        return f"scores of the metric `{targets['teacher']}`, as z-scores of all rows"
    of = {
        "annotator": "z-scores of each annotator (of each data set, where none are named) of",
        "file": "z-scores of each data set of",
        "none": "as they are:",
    }[targets["normalise"]]
    rows = "averaged over the judgements of an output" if targets["average"] else "each judgement a row"
    said = f"{of} human scores, {rows}"
    if targets["penalties_rooted"]:
        said += f"; of penalties ({', '.join(targets['penalties_rooted'])}) minus the root"
    return said


def _limits(kind: str, config: Mapping[str, Any]) -> str:
    targets = config["targets"]
    zero = "the mean of the translations that people judged"
    if "teacher" in targets:
        zero = "the mean of what its teacher gave the training texts"
    if kind == "comet":
        said = (
            f"Identical texts score 1 (100 in sacrebleu); 0 lies two standard deviations below {zero}. A segment of which a "
            "side has no tokens scores 0."
        )
    else:
        said = f"Scores are predictions in standard deviations: 0 is {zero}, and there is no upper bound."
        if targets.get("normalise") == "none":
            said = "Scores are predictions of human scores on the scale that the data has them."
        said += (
            " The commands print them times 100. A segment of which a side has no tokens scores "
            f"{config['empty_value']:.4f}, the worst that was learned from. Texts are cut at {config['max_length']} tokens."
        )
    read = ", ".join(config["languages"]) if config["languages"] else "whatever its encoder reads"
    pairs = sorted({"-".join(pair) for name in config["development"]["sets"] if (pair := language_pair(name))[0]})
    tried = f"; its agreement with people was looked at for {', '.join(pairs)} alone" if pairs else ""
    return f"{said} It is for {read}{tried}. It learned from single segments."
