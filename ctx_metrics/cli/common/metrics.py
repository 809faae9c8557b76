"""The metrics of a command line and their flags: those that metrics declare, and those of sacrebleu's own."""

from argparse import SUPPRESS, ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Sequence
from typing import Any

from sacrebleu.metrics import BLEU

from ...run.flags import add_metric_arguments, metric_name, own_prefixes, wanted_metrics
from ...run.registry import MetricTable

YES = {"action": "store_true"}
ORDER = {"type": int, "metavar": "N"}
SACREBLEU: dict[str, dict[str, dict[str, Any]]] = {
    "bleu": {
        "--tokenize": {
            "choices": [*BLEU.TOKENIZERS],
            "metavar": "NAME",
            "help": "One of {choices}. (Default: by language, 13a)",
        },
        "--lowercase": dict(**YES, help="Ignore case."),
        "--smooth-method": {
            "choices": [*BLEU.SMOOTH_DEFAULTS],
            "default": "exp",
            "metavar": "NAME",
            "help": "One of {choices}.",
        },
        "--smooth-value": {"type": float, "metavar": "X", "help": "Of floor (default 0.1) and add-k (1)."},
    },
    "chrf": {
        "--chrf-char-order": dict(**ORDER, default=6, help="Longest character n-grams."),
        "--chrf-word-order": dict(**ORDER, default=0, help="Longest word n-grams; 2 is chrF++."),
        "--chrf-beta": dict(**ORDER, default=2, help="Weight of recall."),
        "--chrf-whitespace": dict(**YES, help="Count white space."),
        "--chrf-lowercase": dict(**YES, help="Ignore case."),
        "--chrf-eps-smoothing": dict(**YES, help="Smooth as chrF++.py and Moses do."),
    },
    "ter": {
        "--ter-case-sensitive": dict(**YES, help="Heed case."),
        "--ter-asian-support": dict(**YES, help="Take Asian characters as words."),
        "--ter-no-punct": dict(**YES, help="Leave punctuation out."),
        "--ter-normalized": dict(**YES, help="Normalise and tokenise."),
    },
}


def add_sacrebleu_arguments(parser: ArgumentParser, argv: Sequence[str]) -> dict[str, list[str]]:
    """Add the flags of BLEU, chrF and TER; --help shows those of the metrics that the command line names.

    Returns the attribute names of each one's flags, which are METRIC_ and the name of a constructor argument.
    """
    own: dict[str, list[str]] = {}
    for name, flags in SACREBLEU.items():
        shown = name in argv
        group = parser.add_argument_group(f"{name.upper()} related arguments") if shown else parser
        for flag, options in flags.items():
            dest = f"{name}_{flag.removeprefix('--').removeprefix(f'{name}-').replace('-', '_')}"
            text = options["help"].format(choices=", ".join(options.get("choices", ())))
            text += " (Default: %(default)s)" if "default" in options else ""
            group.add_argument(flag, dest=dest, **{**options, "help": text if shown else SUPPRESS})
            own.setdefault(name, []).append(dest)
    return own


def metrics_flag(table: MetricTable, help: str, **options: Any) -> Callable[[_ArgumentGroup], object]:
    """What adds the flag -m to a group; {} in its help stands for the metrics' names."""
    names = [name.lower() for name in table]
    options |= {"type": metric_name(table), "choices": names, "metavar": "NAME", "help": help.format(", ".join(names))}
    return lambda group: group.add_argument("-m", "--metrics", nargs="+", **options)


def add_own_flags(parser: ArgumentParser, argv: Sequence[str], table: MetricTable, default: Sequence[str] = ()) -> None:
    """Add the metrics' own flags; of the metrics, those that this command line names show theirs, else the default ones.

    Raises CtxMetricsError if one of them cannot be loaded.
    """
    words = [word for word in argv if word != "-h" and not (len(word) > 2 and "--help".startswith(word))]
    shown = wanted_metrics(table.plugins, words) or default
    own = {name: add_metric_arguments(parser, name, table) for name in shown}
    parser.set_defaults(own=own | add_sacrebleu_arguments(parser, words), table=table)


def check_metrics(args: Namespace, also: Sequence[str] = ()) -> None:
    """Name each metric of -m once; exits with 2, as argparse does, for a flag of a metric that neither it nor `also` has."""
    args.metrics = list(dict.fromkeys(args.metrics or ()))
    named = {*args.metrics, *also}
    for name in args.own:
        for word in args.argv:
            if name not in named and word.startswith(own_prefixes(name, args.table[name.upper()])):
                args.parser.error(f"{word} is a flag of {name}, which -m does not name")
    for action in args.parser._actions:
        name = next((name for name in SACREBLEU if action.dest in args.own[name]), None)
        if name and name not in args.metrics and getattr(args, action.dest) != action.default:
            args.parser.error(f"{action.option_strings[0]} is a flag of {name}, which -m does not name")


def own_settings(name: str, args: Namespace) -> dict[str, Any]:
    """What a metric's own flags say, as arguments of its constructor."""
    return {dest.removeprefix(f"{name}_"): getattr(args, dest) for dest in args.own.get(name, ())}
