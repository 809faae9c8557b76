"""What every training's command does: the folder that it writes to, how it is stopped and begun again, its languages."""

import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import CtxMetricsError, InputError
from ...notices import notice
from ...writing import check_writable, leftovers

CARD, CURVE, CHECKS, EMBEDDINGS = "README.md", "learning-curve.png", "checks.jsonl", "training-embeddings"
INTERRUPTED = 130
Languages = dict[str, tuple[str | None, str | None]]


def run_resumable(args: Namespace, train: Callable[[Namespace], int]) -> int:
    """What `train` gives, where --out can take a model; a Ctrl-C ends it with what to do next."""
    check_out(Path(args.out), args.overwrite)
    try:
        return train(args)
    except KeyboardInterrupt:
        return say_stopped(args.out)


def say_stopped(out: str) -> int:
    """Say what a Ctrl-C leaves of a training in --out; returns the exit code."""
    goes_on = f"; the same command goes on where it was, by what {out} holds, and --restart begins anew"
    notice("stopped" + goes_on * _is_begun(Path(out)))
    return INTERRUPTED


def _is_begun(out: Path) -> bool:
    """Whether a folder holds the state of a training, or what was kept of its texts."""
    from ...training.kept.token_states import FINISHED
    from ...training.state import STATE

    kept = (out / EMBEDDINGS).rglob("*")
    return (out / STATE).exists() or any(path.name == FINISHED or path.suffix == ".npy" for path in kept)


def check_out(out: Path, overwrite: bool) -> None:
    """Raise InputError where no model can be written to `out`, or one is there already; makes nothing."""
    from ...training.state import STATE

    check_writable(str(out), folder=True)
    # weights without config.json are of a training that was stopped in its last moment, and goes on from its state
    is_model = (out / "config.json").exists() or ((out / "model.safetensors").exists() and not (out / STATE).exists())
    if is_model and not overwrite:
        raise InputError(f"{out} holds a model already; name another folder with --out, or replace it with --overwrite")
    ours = {STATE, EMBEDDINGS, CARD, CHECKS, CURVE, "config.json", "model.safetensors"}
    there_now = {path.name for path in {*out.iterdir()} - {*leftovers(out)}} if out.exists() else set()
    others = sorted(there_now - ours)
    if others or ((out / CARD).exists() and not is_model):
        raise InputError(
            f"{out} holds other things ({', '.join(others or [CARD])[:60]}); name a new or empty folder with --out"
        )


def name_of(path: str) -> str:
    """The last part of a path.

    >>> name_of("data/newstest2016/"), name_of("mqm.tsv")
    ('newstest2016', 'mqm.tsv')
    """
    return os.path.basename(os.path.abspath(path))


def known_languages(datasets: Sequence[str], pairs: Sequence[str] | None) -> Languages:
    """Source and target language of each data set, as its name or a single -l tells; None where nothing does.

    >>> known_languages(["wmt20.en-de", "mine"], ["cs-en"])
    {'wmt20.en-de': ('en', 'de'), 'mine': ('cs', 'en')}
    """
    from ...judgements.readers.rows import language_pair

    one = language_pair(pairs[0]) if pairs is not None and len(pairs) == 1 else (None, None)
    found = {}
    for name in dict.fromkeys(datasets):
        of_name = language_pair(
            name.rpartition(" (")[0] or name
        )  # of two data sets of one name, the second has its path
        found[name] = of_name if of_name[0] else one
    return found


def target_languages(encoder: str | None, known: Languages) -> list[str] | None:
    """What the model is for, unless --languages says it: the known target languages, English with the embedded encoder."""
    if encoder in (None, "embedded"):
        return ["en"]
    return sorted({target for _, target in known.values() if target}) or None


def can_plot() -> bool:
    """Whether a learning curve can be drawn; says so if not."""
    from ...meta import plots

    try:
        plots.check()
    except CtxMetricsError as error:
        notice(f"no learning curve is drawn: {error}")
        return False
    return True
