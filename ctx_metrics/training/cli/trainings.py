"""What every training's command does: the folder that it writes to, how it is stopped and begun again, its languages."""

import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CtxMetricsError, InputError
from ...flag_types import Folder
from ...language import language_pair
from ...meta.judgements.options import DataOptions
from ...notices import notice
from ...settings import from_flags, setting
from ...writing import check_writable, leftovers, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..card import Source

CARD, CURVE, CHECKS, EMBEDDINGS = "README.md", "learning-curve.png", "checks.jsonl", "training-embeddings"
Languages = dict[str, tuple[str | None, str | None]]


def run_resumable(args: Namespace, module: str, check: Callable[[Path, bool], None] | None = None) -> int:
    """Check --out, run a module's `train`, and return the exit code; on Ctrl-C, KeyboardInterrupt says how to continue."""
    (check or check_out)(Path(args.out), args.overwrite)
    try:
        import_module(module).train(args)  # here, so that a Ctrl-C while torch is imported is caught too
        return 0
    except KeyboardInterrupt:
        goes_on = f"run the same command again to continue from the state in {args.out}, or add --restart to start over"
        raise KeyboardInterrupt(goes_on * _is_begun(Path(args.out))) from None


@dataclass(frozen=True)
class Running:
    """Flags for the output folder and for handling its contents."""

    out: Folder = setting("Folder of the model; while training, also of its state.", group="running", required=True)
    overwrite: bool = setting("Replace the model in --out when this training is done.", False)
    restart: bool = setting("Delete the state of a stopped training and start over.", False)


def cache(kept: str, others: str) -> Any:
    """Return the flag --cache; `kept` and `others` say in its help what is kept, and for which other trainings."""
    help = (
        f"Folder that keeps {kept} for other trainings {others}. (Default: a folder in --out, deleted when the training is "
        "done)"
    )
    return setting(help, metavar="FOLDER")


def data_options(args: Namespace) -> DataOptions:
    """Return the options for reading judgements."""
    return replace(from_flags(DataOptions, args), text_checks=not args.no_text_checks)


def check_pairs(args: Namespace) -> None:
    """Exit with status 2, as argparse does, if -l is not a language pair."""
    for pair in args.pairs or ():
        try:
            language_pair(pair)
        except InputError as error:
            args.parser.error(f"-l {error}")


def begin(out: Path, restart: bool) -> None:
    """With `restart`, delete the state that a stopped training left in `out`."""
    from ..state import STATE

    if restart:
        (out / STATE).unlink(missing_ok=True)
        shutil.rmtree(out / EMBEDDINGS, ignore_errors=True)


def finish(
    out: str,
    checks: Sequence[Any],
    *,
    card: str,
    draw: "Callable[[], Figure] | None",
    lines: Sequence[str],
    uses: Sequence[str],
) -> None:
    """Write checks, card and learning curve to a trained model's folder, delete its cache, and print a summary.

    lines    lines to print before the model's files
    uses     commands that use the model, printed after them
    """
    from ...cli.common.output import as_json

    folder = Path(out)
    shutil.rmtree(folder / EMBEDDINGS, ignore_errors=True)
    write_whole(str(folder / CHECKS), as_json([vars(check) for check in checks], "jsonl", None))
    write_whole(str(folder / CARD), card)
    (folder / CURVE).unlink(missing_ok=True)
    if draw is not None:
        from ... import plots

        plots.save(draw(), str(folder / CURVE))
    files = ["model.safetensors", "config.json", CARD, CHECKS, *[CURVE] * (draw is not None)]
    print("\n".join([*lines, f"Model: {out} ({', '.join(files)})", *(f"Use: {line}" for line in uses)]))


def _is_begun(out: Path) -> bool:
    """Whether a folder contains the state of a training, or cached data of its texts."""
    from ..state import STATE

    kept = (out / EMBEDDINGS).rglob("*")
    return (out / STATE).exists() or any(path.suffix in (".npy", ".f16") for path in kept)


def check_out(out: Path, overwrite: bool) -> None:
    """Raise InputError if no model can be written to `out` or it already contains one; creates nothing."""
    from ..state import STATE

    check_writable(str(out), folder=True)
    # weights without config.json come from a training that was stopped at the last moment and can resume from its state
    is_model = (out / "config.json").exists() or ((out / "model.safetensors").exists() and not (out / STATE).exists())
    if is_model and not overwrite:
        raise InputError(f"{out} holds a model already; name another folder with --out, or replace it with --overwrite")
    ours = {STATE, EMBEDDINGS, CARD, CHECKS, CURVE, "config.json", "model.safetensors"}
    names = {path.name for path in {*out.iterdir()} - {*leftovers(out)}} if out.exists() else set()
    others = sorted(names - ours)
    if others or ((out / CARD).exists() and not is_model):
        raise InputError(
            f"{out} holds other files ({', '.join(others or [CARD])[:60]}); name a new or empty folder with --out"
        )


def name_of(path: str) -> str:
    """Return the last part of a path.

    >>> name_of("data/newstest2016/"), name_of("mqm.tsv")
    ('newstest2016', 'mqm.tsv')
    """
    return os.path.basename(os.path.abspath(path))


def known_languages(datasets: Sequence[str], pairs: Sequence[str] | None) -> Languages:
    """Return the source and target language of each data set, from its name or a single -l; None if unknown.

    >>> known_languages(["wmt20.en-de", "mine"], ["cs-en"])
    {'wmt20.en-de': ('en', 'de'), 'mine': ('cs', 'en')}
    """
    from ...meta.judgements.readers import rows

    one = rows.language_pair(pairs[0]) if pairs is not None and len(pairs) == 1 else (None, None)
    languages = {}
    for name in dict.fromkeys(datasets):
        # if two data sets have the same name, the second has its path appended
        of_name = rows.language_pair(name.rpartition(" (")[0] or name)
        languages[name] = of_name if of_name[0] else one
    return languages


def target_languages(encoder: str | None, known: Languages) -> list[str] | None:
    """Return the model's default languages: the known target languages, or English for the embedded encoder."""
    if encoder in (None, "embedded"):
        return ["en"]
    return sorted({target for _, target in known.values() if target}) or None


def guard(command: str, asked: bool, languages: Iterable[str | None], texts: Iterable[Sequence[Any]]) -> None:
    """Stop or warn if the embedded encoder would read a language other than English.

    Checks all known languages, and the texts whose language is unknown.
    """
    from ...language import guard_english

    for language in sorted({each for each in languages if each}):
        guard_english(command, "--encoder", asked, language=language, texts=())
    for each in texts:
        guard_english("", "", asked, language=None, texts=each)


def source(path: str, counts: Mapping[str, int], weight: float | None = None) -> "Source":
    """Return a path of the data for the card and config.json."""
    from ..card import Source
    from ..digest import data_sha256

    return Source(name_of(path), data_sha256(path), weight, counts)


def as_json(sources: "Mapping[str, Sequence[Source]]") -> dict[str, list[dict[str, Any]]]:
    """Return the entries of config.json for the paths of each side."""
    return {side: [each.as_json() for each in paths] for side, paths in sources.items()}


def can_plot(args: Namespace) -> bool:
    """Whether a learning curve is wanted and possible; prints a notice if it is impossible."""
    from ... import plots

    if not args.no_plot:
        try:
            plots.check()
            return True
        except CtxMetricsError as error:
            notice(f"no learning curve is drawn: {error}")
    return False
