"""The card of a trained model, README.md in its folder: what it is, what it learned from, and how well it performs.

The texts are the templates in cards/; this module fills in the facts.
"""

import functools
import os
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from ..meta.judgements.readers.rows import language_pair

if TYPE_CHECKING:
    from ..pairwise.training.learn import Architecture
    from ..pairwise.training.learn import Trained as TrainedPairwise
    from ..pairwise.training.recipe import PairwiseRecipe
    from ..pseudo_references.paraphrase.learn import TrainedClassifier
    from ..pseudo_references.paraphrase.recipe import ParaphraseRecipe
    from .quality.learn import Trained

TITLES = {"bilstm": "BiLSTM", "bilstmatt": "BiLSTM with attention", "esim": "ESIM", "comet": "alignment regressor"}
METRICS = {"pearson": "Pearson's r", "darr": "tau (DARR)"}
CHECKS_SHOWN = 40


class Source(NamedTuple):
    """One path of the data.

    name      the last part of the path
    sha256    hash from digest.data_sha256
    weight    weight of its rows; None for development data
    counts    {"rows": rows read, "kept": ..., "without a score": ..., ...}
    """

    name: str
    sha256: str
    weight: float | None
    counts: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the source as an entry of config.json."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"name": self.name, "sha256": self.sha256, **weight, **self.counts}


def card(name: str, kind: str, trained: "Trained", sources: Mapping[str, Sequence[Source]]) -> str:
    """Return the Markdown card of a model whose `kind` is bilstm, bilstmatt, esim or comet.

    name       name of its folder;  sources    those of "train" and "development"
    """
    of_development = trained.config["development"]
    known = map(language_pair, of_development["sets"])
    pairs = sorted({f"{source}-{target}" for source, target in known if source})
    title = "unified quality model" if trained.config.get("model_type") == "ctx-unified" else TITLES[kind]
    facts = {"kind": kind, "title": title, "metric": METRICS[of_development["metric"]], "pairs": pairs}
    commands = "\n    ".join(trained.config["commands"])
    return _rendered("quality", trained, commands, name=name, sources=sources, **facts)


def pairwise_card(
    name: str,
    architecture: "Architecture",
    recipe: "PairwiseRecipe",
    trained: "TrainedPairwise",
    sources: Mapping[str, Sequence[Source]],
    drawn: str,
    argv: Sequence[str],
) -> str:
    """Return the Markdown card of a pairwise model.

    drawn    how the development pairs were drawn from the training data; "" if they were not
    """
    config = trained.config
    with_nltk = any(each["spec"].startswith("meteor") for each in config["features"])
    others = {"sacrebleu": config["features"], "nltk": with_nltk, "tokenizers": config["encoder"] is not None}
    facts = {
        "features": architecture.features,
        "vectors": list(map(os.path.basename, architecture.vectors)),
        "others": [package for package, is_read in others.items() if is_read],
    }
    recipe_and_data = {"recipe": vars(recipe), "sources": sources, "drawn": drawn}
    return _rendered("pairwise", trained, command(argv), name=name, **recipe_and_data, **facts)


def paraphrase_card(
    name: str,
    trained: "TrainedClassifier",
    recipe: "ParaphraseRecipe",
    sources: Mapping[str, Sequence[Source]],
    drawn: str,
    argv: Sequence[str],
) -> str:
    """Return the Markdown card of a paraphrase classifier.

    drawn    as in pairwise_card;  argv    the words after `ctx-metrics paraphrase`
    """
    given = {key: str(value) for key, value in vars(recipe).items()}
    facts = {"rank": recipe.rank, "recipe": given, "sources": sources, "drawn": drawn}
    return _rendered("paraphrase", trained, command(argv, "paraphrase"), name=name, **facts)


def _rendered(template: str, trained: Any, command: str, **facts: Any) -> str:
    """Render a template in cards/ with facts of a trained model, and collapse repeated blank lines."""
    from huggingface_hub import ModelCard, ModelCardData

    config, encoder = getattr(trained, "config", {}), []
    if config.get("encoder") is not None:
        own = os.path.basename(config["encoder"].rstrip("/")) or config["encoder"]
        weights = f"{config['encoder_ckpt']}..."
        kept = "with the changes in the file" if config.get("model_type") == "ctx-unified" else "not trained"
        encoder = [("encoder", f"{own}, {kept}"), ("encoder's weights (sha256)", weights)]
    tools = {
        "row": row,
        "table": table,
        "paths": source_table,
        "settings": recipe_table,
        "use": use,
        "versions": versions,
    }
    facts = {
        **tools,
        "trained": trained,
        "config": config,
        "encoder": encoder,
        "languages": ", ".join(config.get("languages") or ()),
        "checks": functools.partial(_checks, trained.checks, trained.best),
        "command": command,
        "python": platform.python_version(),
        **facts,
    }
    text = (files(__package__) / "cards" / f"{template}.md").read_text("utf-8")
    written = ModelCard.from_template(ModelCardData(library_name="ctx-metrics"), template_str=text, **facts)
    return re.sub(r"\n{3,}", "\n\n", written.text.strip("\n")) + "\n"


def use(kind: str, folder: str, inputs: str = "mt+ref") -> list[str]:
    """Return the commands that score with a model.

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
        sources = "" if inputs == "mt+ref" else " --source SOURCE"
        reference = "SOURCE" if inputs == "mt+src" else "REF"
        return [f"sacrebleu {reference} -i HYP{sources} -m {m} --{m}-model {folder}" for m in ("comet", "slide")]
    if inputs == "mt+src":
        return [f"ctx-metrics score -s SOURCE -t HYP -m {kind} --{kind}-model {folder}"]
    return [f"sacrebleu REF -i HYP -m {kind} --{kind}-model {folder}"]


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
    """Return a table of the data, with one row per path."""
    weighted = any(path.weight is not None for path in paths)
    rows = []
    for path in paths:
        left = ", ".join(f"{n:,} {why}" for why, n in path.counts.items() if why not in ("rows", "kept"))
        weight = [f"{path.weight:g}"] if weighted else []
        rows.append([path.name, *weight, f"{path.counts['rows']:,}", f"{path.counts['kept']:,}", left, path.sha256])
    return table(["path", *["weight"] * weighted, "rows", "used", "of which, or left out", "sha256"], rows)


def recipe_table(recipe: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """Return a table of a recipe's settings, with one row per setting."""
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
