"""The flags of sacrebleu's own metrics, by the names that its command gives them."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics import BLEU

YES = {"action": "store_true"}
ORDER = {"type": int, "metavar": "N"}
FLAGS: dict[str, dict[str, dict[str, Any]]] = {
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
TITLES = {"bleu": "BLEU", "chrf": "CHRF", "ter": "TER"}


def add_sacrebleu_arguments(parser: ArgumentParser, argv: Sequence[str]) -> dict[str, list[str]]:
    """Add the flags of BLEU, chrF and TER; --help shows those of the metrics that the command line names.

    Returns the attribute names of each one's flags, which are METRIC_ and the name of a constructor argument.
    """
    own: dict[str, list[str]] = {}
    for name, flags in FLAGS.items():
        shown = name in argv
        group = parser.add_argument_group(f"{TITLES[name]} related arguments") if shown else parser
        for flag, options in flags.items():
            dest = f"{name}_{flag.removeprefix('--').removeprefix(f'{name}-').replace('-', '_')}"
            text = options["help"].format(choices=", ".join(options.get("choices", ())))
            text += " (Default: %(default)s)" if "default" in options else ""
            group.add_argument(flag, dest=dest, **{**options, "help": text if shown else SUPPRESS})
            own.setdefault(name, []).append(dest)
    return own


def unused_flag(args: Namespace, own: dict[str, list[str]]) -> str:
    """A message that names a flag given for a metric of `own` which -m does not name; "" where there is none."""
    for action in args.parser._actions:
        name = next((name for name, dests in own.items() if action.dest in dests), None)
        if name and name not in args.metrics and getattr(args, action.dest) != action.default:
            return f"{action.option_strings[0]} is a flag of {name}, which -m does not name"
    return ""
