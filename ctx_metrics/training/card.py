"""The card of a trained model, README.md in its folder: its kind, its training data, and how well it performs.

The texts are templates, card.md next to each task; this module fills in the facts.
"""

import functools
import os
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from .data import Source

CHECKS_SHOWN = 40


def card(package: str, trained: Any, command: str, facts: Mapping[str, Any], encoder: str = "not trained") -> str:
    """Return the Markdown card of a model: the template card.md in a package, filled in.

    trained    has `checks`, `best` and, for most models, `config`
    encoder    how the training changed the encoder that config.json names
    """
    from huggingface_hub import ModelCard, ModelCardData

    config, of_encoder = getattr(trained, "config", {}), []
    if config.get("encoder") is not None:
        own = os.path.basename(config["encoder"].rstrip("/")) or config["encoder"]
        weights = f"{config['encoder_ckpt']}..."
        of_encoder = [("encoder", f"{own}, {encoder}"), ("encoder's weights (sha256)", weights)]
    given = {
        **{"row": row, "table": table, "paths": source_table, "settings": recipe_table, "versions": versions},
        "trained": trained,
        "config": config,
        "encoder": of_encoder,
        "languages": ", ".join(config.get("languages") or ()),
        "checks": functools.partial(_checks, trained.checks, trained.best),
        "command": command,
        "python": platform.python_version(),
        **facts,
    }
    text = (files(package) / "card.md").read_text("utf-8")
    written = ModelCard.from_template(ModelCardData(library_name="ctx-metrics"), template_str=text, **given)
    return re.sub(r"\n{3,}", "\n\n", written.text.strip("\n")) + "\n"


def command(argv: Sequence[str], subcommand: str = "train") -> str:
    """Return the command line, with absolute paths reduced to their last parts.

    >>> command(["esim", "--train", "/home/me/da.tsv:0.5", "--dev", "data/dev.tsv", "--out=/models/my esim"])
    "ctx-metrics train esim --train da.tsv:0.5 --dev data/dev.tsv '--out=my esim'"
    """
    words = []
    for word in argv:
        flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if os.path.isabs(value) or value.startswith("~"):
            value = os.path.basename(value.rstrip("/"))
        words.append(f"{flag}{equals}{value}")
    return shlex.join(["ctx-metrics", subcommand, *words])


def row(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return "\n".join(row(*line) for line in (headers, ["---"] * len(headers), *rows))


def source_table(paths: Sequence[Source]) -> str:
    weighted, chosen = any(path.weight is not None for path in paths), any(path.scores for path in paths)
    rows = []
    for path in paths:
        left = ", ".join(f"{n:,} {why}" for why, n in path.counts.items() if why not in ("rows", "kept"))
        weight = [f"{path.weight:g}"] if weighted else []
        scores = [path.scores] * chosen
        numbers = f"{path.counts['rows']:,}", f"{path.counts['kept']:,}"
        rows.append([path.name, *weight, *scores, *numbers, left, path.sha256])
    of_path = [*["weight"] * weighted, *["scored by"] * chosen]
    return table(["path", *of_path, "rows", "used", "of which, or left out", "sha256"], rows)


def recipe_table(recipe: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    rows = [(key, "none" if value is None else value) for key, value in recipe.items() if key not in without]
    return table(("setting", "value"), rows)


def versions(*packages: str) -> str:
    return ", ".join(f"{package} {version(package)}" for package in packages)


def _checks(checks: Sequence[Any], best: int, columns: Mapping[str, str], bold: int, what: str = "") -> str:
    """Return a table of the checks, with a cell of the best one in bold.

    Of many checks, it shows some at even intervals and the best, unless `what` is "", which shows all.

    columns    {heading: format of a cell, filled with the check's fields};  bold    index of the bold cell
    """
    every = -(-len(checks) // CHECKS_SHOWN) if what else 1
    rows = []
    for number, check in enumerate(checks):
        if number % every == 0 or number == best:
            cells = [cell.format_map(vars(check)) for cell in columns.values()]
            cells[bold] = f"**{cells[bold]}**" if number == best else cells[bold]
            rows.append(cells)
    more = "" if every == 1 else f"\n\n{len(rows)} of {len(checks)} {what}; checks.jsonl has all."
    return table(list(columns), rows) + more
