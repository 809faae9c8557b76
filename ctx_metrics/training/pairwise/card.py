"""The card of a trained pairwise model, README.md in its folder."""

import math
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..card import CHECKS_SHOWN, Source, command, sources, table

if TYPE_CHECKING:
    from .learn import Architecture, Trained
    from .recipe import PairwiseRecipe
    from .task import Check

NETWORK = """\
The network of Guzmán, Joty, Màrquez and Nakov (2015), "Pairwise Neural Machine Translation Evaluation" (ACL 2015): the
chance that the first of two outputs is the better one, given their reference. Both orders of the two are read, and their
chances averaged."""
TAU = "strict tau"
TAU_SAYS = """\
Strict tau of WMT11 and WMT12, (C - D - T) / (C + D + T), of C pairs where the model agrees with people, D where it does not,
and T where it cannot tell the outputs apart; beside it that of each number which it reads of an output, alone. These pairs
chose the epoch, which makes the model's tau a little optimistic, and a number's sign is the better of the two."""


def best_check(checks: Sequence["Check"]) -> int:
    """The number of the check with the highest tau, of equal ones the first, whose weights the model has.

    Raises ValueError if there are none.
    """
    return max(range(len(checks)), key=lambda number: checks[number].tau)


def use(folder: str) -> list[str]:
    """The commands that score and rank with a model.

    >>> use("my model")[0]
    "sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model 'my model'"
    """
    folder = shlex.quote(folder)
    return [
        f"sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model {folder}",
        f"ctx-metrics pairwise rank REF -i SYSTEM1 SYSTEM2 --model {folder}",
    ]


def card(
    name: str,
    architecture: "Architecture",
    recipe: "PairwiseRecipe",
    trained: "Trained",
    training: Sequence[Source],
    development: Sequence[Source],
    drawn: str,
    argv: Sequence[str],
) -> str:
    """The Markdown of a model's card.

    name     of its folder;  drawn    how the development pairs were drawn from the training data; "" if they were not
    argv     the command's arguments
    """
    config = trained.config
    best = best_check(trained.checks)
    taus = {"the model": trained.checks[best].tau, **trained.feature_taus}
    settings = [(key, "none" if value is None else str(value)) for key, value in vars(recipe).items()]
    of_development = [sources(development)] if development else []
    sections = [
        f"# {name}: pairwise evaluation",
        NETWORK,
        "## Use",
        "\n".join(f"    {line}" for line in use(name)),
        "## What it reads",
        table(("", ""), _reads(architecture, config)),
        "## What it learned from",
        f"{config['training']['pairs']:,} pairs of a better and a worse output; rows below are pairs. The sha256 of a path "
        "is that of its bytes; of a folder, that of the list of its files' hashes.",
        sources(training),
        *([drawn] if drawn else []),
        "## Recipe",
        table(("setting", "value"), settings),
        f"    {command(argv)}",
        "## Agreement with people on the development data",
        f"{TAU_SAYS} There are {config['development']['pairs']:,} pairs.",
        *of_development,
        table(("", TAU), [(each, "-" if math.isnan(tau) else f"{tau:.4f}") for each, tau in taus.items()]),
        _checks(trained.checks, best),
        "## Limits",
        _limits(config),
        "## Made with",
        ", ".join(f"{package} {version(package)}" for package in _packages(config))
        + f", Python {platform.python_version()}.",
    ]
    return "\n\n".join(sections) + "\n"


def _reads(architecture: "Architecture", config: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("features of an output", ", ".join(architecture.features) or "none"),
        ("sentence vectors", ", ".join(map(os.path.basename, architecture.vectors)) or "none"),
    ]
    if config["encoder"] is not None:
        encoder = os.path.basename(config["encoder"].rstrip("/")) or config["encoder"]
        rows += [("encoder", f"{encoder}, not trained"), ("encoder's weights (sha256)", f"{config['encoder_ckpt']}...")]
    languages = ", ".join(config["languages"]) if config["languages"] else "those of what it reads"
    network = [(f"network: {key}", str(value)) for key, value in config["network"].items()]
    signatures = [(f"{each['spec']}, as it was computed", each["signature"]) for each in config["features"]]
    return [*rows, ("languages", languages), *network, *signatures]


def _checks(checks: Sequence["Check"], best: int) -> str:
    """The epochs' table; of many, some evenly over all and the best."""
    every = -(-len(checks) // CHECKS_SHOWN)
    shown = [number for number in range(len(checks)) if number % every == 0 or number == best]
    said = "" if every == 1 else f"\n\n{len(shown)} of {len(checks)} epochs; checks.jsonl has all."
    rows = [
        (
            checks[number].phase,
            str(checks[number].epoch),
            f"{checks[number].cost:.4f}",
            f"**{checks[number].tau:.4f}**" if number == best else f"{checks[number].tau:.4f}",
        )
        for number in shown
    ]
    return table(("cost of", "epoch", "mean cost", TAU), rows) + said


def _limits(config: Mapping[str, Any]) -> str:
    languages = ", ".join(config["languages"]) if config["languages"] else "whatever it reads"
    return (
        "It compares outputs for the same segment and says nothing of how good either is: a system's score depends on whom "
        "it is compared with. Outputs that people found equally good were not learned from, and it never calls two outputs "
        f"equal but where it reads the same of both. It is for {languages}, and learned from single segments."
    )


def _packages(config: Mapping[str, Any]) -> list[str]:
    with_nltk = any(each["spec"].startswith("meteor") for each in config["features"])
    read = ["sacrebleu"] * bool(config["features"]) + ["nltk"] * with_nltk
    return ["ctx-metrics", "torch", "safetensors", "numpy", *read, *["tokenizers"] * (config["encoder"] is not None)]
