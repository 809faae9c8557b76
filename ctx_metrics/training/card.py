"""The card of a trained model, README.md in its folder: what it is, what it learned from, and how well it did."""

import math
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from ..judgements.readers.rows import language_pair

if TYPE_CHECKING:
    from .pairwise.learn import Architecture
    from .pairwise.learn import Trained as TrainedPairwise
    from .pairwise.recipe import PairwiseRecipe
    from .quality.learn import Trained

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
PAIRWISE = """\
The network of Guzmán, Joty, Màrquez and Nakov (2015), "Pairwise Neural Machine Translation Evaluation" (ACL 2015): the
chance that the first of two outputs is the better one, given their reference. Both orders of the two are read, and their
chances averaged."""
TAU = "strict tau"
TAU_SAYS = """\
Strict tau of WMT11 and WMT12, (C - D - T) / (C + D + T), of C pairs where the model agrees with people, D where it does not,
and T where it cannot tell the outputs apart; beside it that of each number which it reads of an output, alone. These pairs
chose the epoch, which makes the model's tau a little optimistic, and a number's sign is the better of the two."""


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


def card(name: str, kind: str, trained: "Trained", sources: Mapping[str, Sequence[Source]], argv: Sequence[str]) -> str:
    """The Markdown of the card of a bilstm, bilstmatt, esim or comet, which is its `kind`.

    name       of its folder;  sources    those of "train" and "development";  argv    the command's arguments
    """
    config = trained.config
    reference = config["inputs"] == "mt+ref"
    texts = f"the translation and its {'reference' if reference else 'source'}"
    metric = METRICS[config["development"]["metric"]]
    learned = config["training"]
    started = f" It started from the weights of {learned['init']}." if learned["init"] else ""
    sets = [(each, f"{score:.4f}") for each, score in config["development"]["sets"].items()]
    checks = [
        (f"{each.rows:,}", str(each.epoch), f"{each.loss:.4f}", f"{each.score:.4f}", f"{each.learning_rate:.2g}")
        for each in trained.checks
    ]
    return _markdown(
        title=f"{name}: {TITLES[kind]}",
        about=(REGRESSOR if kind == "comet" else NETWORK).format(texts=texts),
        use=use(kind, name, config["inputs"]),
        reads=[
            *_encoder(config),
            ("layers", ", ".join(map(str, config["layers"]))),
            ("inputs", f"{config['inputs']}: {texts}"),
            ("tokens kept of a text", str(config["max_length"])),
            ("languages", _languages(config, "those of the encoder")),
            *_network(config),
        ],
        learned=f"{learned['rows']:,} rows; targets are {_targets(config['targets'])}.{started}",
        sources=sources,
        recipe={key: value for key, value in learned.items() if key not in ("rows", "init")},
        argv=argv,
        agreement=f"{metric}, on data that was not trained on but chose the weights, which makes it a little "
        "optimistic.",
        scores=table(("set", metric), [*sets, ("mean", f"{config['development']['score']:.4f}")]),
        checks=_checks(("rows read", "epoch", "loss", metric, "learning rate"), checks, trained.best, "checks"),
        limits=_limits(kind, config),
        packages=("ctx-metrics", "torch", "tokenizers", "safetensors", "numpy"),
    )


def pairwise_card(
    name: str,
    architecture: "Architecture",
    recipe: "PairwiseRecipe",
    trained: "TrainedPairwise",
    sources: Mapping[str, Sequence[Source]],
    drawn: str,
    argv: Sequence[str],
) -> str:
    """The Markdown of the card of a pairwise model.

    drawn    how the development pairs were drawn from the training data; "" if they were not
    """
    config, best = trained.config, trained.checks[trained.best]
    taus = {"the model": best.tau, **trained.feature_taus}
    languages = _languages(config, "whatever it reads")
    with_nltk = any(each["spec"].startswith("meteor") for each in config["features"])
    read = ["sacrebleu"] * bool(config["features"]) + ["nltk"] * with_nltk
    checks = [(each.phase, str(each.epoch), f"{each.cost:.4f}", f"{each.tau:.4f}") for each in trained.checks]
    return _markdown(
        title=f"{name}: pairwise evaluation",
        about=PAIRWISE,
        use=use("pairwise", name),
        reads=[
            ("features of an output", ", ".join(architecture.features) or "none"),
            ("sentence vectors", ", ".join(map(os.path.basename, architecture.vectors)) or "none"),
            *(_encoder(config) if config["encoder"] is not None else []),
            ("languages", _languages(config, "those of what it reads")),
            *_network(config),
            *((f"{each['spec']}, as it was computed", each["signature"]) for each in config["features"]),
        ],
        learned=f"{config['training']['pairs']:,} pairs of a better and a worse output; rows below are pairs.",
        sources=sources,
        drawn=drawn,
        recipe=vars(recipe),
        argv=argv,
        agreement=f"{TAU_SAYS} There are {config['development']['pairs']:,} pairs.",
        scores=table(("", TAU), [(each, "-" if math.isnan(tau) else f"{tau:.4f}") for each, tau in taus.items()]),
        checks=_checks(("cost of", "epoch", "mean cost", TAU), checks, trained.best, "epochs"),
        limits="It compares outputs for the same segment and says nothing of how good either is: a system's score depends "
        "on whom it is compared with. Outputs that people found equally good were not learned from, and it never calls two "
        f"outputs equal but where it reads the same of both. It is for {languages}, and learned from single segments.",
        packages=(
            *("ctx-metrics", "torch", "safetensors", "numpy", *read),
            *["tokenizers"] * (config["encoder"] is not None),
        ),
    )


def use(kind: str, folder: str, inputs: str = "mt+ref") -> list[str]:
    """The commands that score with a model.

    >>> use("esim", "my model")
    ["sacrebleu REF -i HYP -m esim --esim-model 'my model'"]
    """
    folder = shlex.quote(folder)
    if kind == "pairwise":
        return [
            f"sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model {folder}",
            f"ctx-metrics pairwise rank REF -i SYSTEM1 SYSTEM2 --model {folder}",
        ]
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


def source_table(paths: Sequence[Source]) -> str:
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


def recipe_table(recipe: Mapping[str, Any]) -> str:
    """The settings of a recipe, a line each."""
    return table(
        ("setting", "value"), [(key, "none" if value is None else str(value)) for key, value in recipe.items()]
    )


def _markdown(
    *,
    title: str,
    about: str,
    use: Sequence[str],
    reads: Sequence[tuple[str, str]],
    learned: str,
    sources: Mapping[str, Sequence[Source]],
    drawn: str = "",
    recipe: Mapping[str, Any],
    argv: Sequence[str],
    agreement: str,
    scores: str,
    checks: str,
    limits: str,
    packages: Sequence[str],
) -> str:
    """A card of these parts; what is empty is left out."""
    sections = [
        f"# {title}",
        about,
        "## Use",
        "\n".join(f"    {line}" for line in use),
        "## What it reads",
        table(("", ""), reads),
        "## What it learned from",
        f"{learned} The sha256 of a path is that of its bytes; of a folder, that of the list of its files' hashes.",
        source_table(sources["train"]),
        drawn,
        "## Recipe",
        recipe_table(recipe),
        f"    {command(argv)}",
        "## Agreement with people on the development data",
        agreement,
        source_table(sources["development"]) if sources["development"] else "",
        scores,
        checks,
        "## Limits",
        limits,
        "## Made with",
        f"{versions(packages)}, Python {platform.python_version()}.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def versions(packages: Sequence[str]) -> str:
    """Packages with their versions."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


def _encoder(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    name = os.path.basename(config["encoder"].rstrip("/")) or config["encoder"]
    return [("encoder", f"{name}, not trained"), ("encoder's weights (sha256)", f"{config['encoder_ckpt']}...")]


def _network(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(f"network: {key}", str(value)) for key, value in config["network"].items()]


def _languages(config: Mapping[str, Any], otherwise: str) -> str:
    return ", ".join(config["languages"] or [otherwise])


def _checks(headers: Sequence[str], rows: Sequence[Sequence[str]], best: int, what: str) -> str:
    """The checks' table, the fourth cell of the best one in bold; of many, some evenly over all and the best."""
    every = -(-len(rows) // CHECKS_SHOWN)
    shown = [
        [*row[:3], f"**{row[3]}**", *row[4:]] if number == best else row
        for number, row in enumerate(rows)
        if number % every == 0 or number == best
    ]
    said = "" if every == 1 else f"\n\n{len(shown)} of {len(rows)} {what}; checks.jsonl has all."
    return table(headers, shown) + said


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
    read = _languages(config, "whatever its encoder reads")
    known = map(language_pair, config["development"]["sets"])
    pairs = sorted({f"{source}-{target}" for source, target in known if source})
    tried = f"; its agreement with people was looked at for {', '.join(pairs)} alone" if pairs else ""
    return f"{said} It is for {read}{tried}. It learned from single segments."
