"""The folder of a training run: its flags, its permitted content, how a stopped run resumes, and the final files."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import CtxMetricsError, InputError
from ..notices import notice
from ..paths import Writes
from ..settings import setting
from ..writing import check_writable, leftovers, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATE, CARD, CURVE, CHECKS = "training-state.safetensors", "README.md", "learning-curve.png", "checks.jsonl"
EMBEDDINGS = "training-embeddings"  # the cache, if no other folder is named
MODEL = ["model.safetensors", "config.json"]
WRITTEN = (STATE, CARD, CURVE, CHECKS, f"{EMBEDDINGS}/*", *MODEL)
Cache = Annotated[str, Writes(inside=("cache.json", "lock", "plan-*", "chunk-*", "*.npy")), "FOLDER"]


@dataclass(frozen=True)
class TrainingFolder:
    """The output folder: while training, it holds the state; afterwards the model, its card and its learning curve."""

    out: Annotated[str, Writes(inside=WRITTEN), "FOLDER"] = setting(
        "Folder of the model; while training, also of its state.", group="running", required=True
    )
    overwrite: bool = setting("Replace the model in --out when this training is done.", False)
    restart: bool = setting("Delete the state of a stopped training and start over.", False)

    @property
    def path(self) -> Path:
        return Path(self.out)

    @property
    def name(self) -> str:
        return name_of(self.out)

    def run(self, train: Callable[[], object]) -> int:
        """Check the folder, train, and return the exit code; on Ctrl-C, KeyboardInterrupt says how to continue."""
        self.check()
        try:
            train()
            return 0
        except KeyboardInterrupt:
            goes_on = (
                f"run the same command again to continue from the state in {self.out}, or add --restart to start over"
            )
            raise KeyboardInterrupt(goes_on * self._is_begun()) from None

    def check(self) -> None:
        """Raise InputError if no model can be written or there already is one; creates nothing."""
        out, model = self.path, [(self.path / name).exists() for name in MODEL]
        check_writable(self.out, folder=True)
        # weights without config.json come from a training run that was stopped at the last moment and can resume
        is_model = model[1] or (model[0] and not (out / STATE).exists())
        if is_model and not self.overwrite:
            raise InputError(
                f"{out} holds a model already", fix="name another folder with --out, or replace it with --overwrite"
            )
        names = {path.name for path in {*out.iterdir()} - {*leftovers(out)}} if out.exists() else set()
        others = sorted(names - {STATE, EMBEDDINGS, CARD, CHECKS, CURVE, *MODEL})
        if others or ((out / CARD).exists() and not is_model):
            raise InputError(
                f"{out} holds other files ({', '.join(others or [CARD])[:60]})",
                fix="name a new or empty folder with --out",
            )

    def begin(self) -> None:
        if self.restart:
            (self.path / STATE).unlink(missing_ok=True)
            shutil.rmtree(self.path / EMBEDDINGS, ignore_errors=True)

    def finish(
        self, checks: Sequence[Any], *, card: str, curve: "Figure | None", lines: Sequence[str], uses: Sequence[str]
    ) -> None:
        """Add checks, card and learning curve to a trained model, delete its cache, and print a summary."""
        from ..cli.common.output import as_json

        shutil.rmtree(self.path / EMBEDDINGS, ignore_errors=True)
        write_whole(str(self.path / CHECKS), as_json([vars(check) for check in checks], "jsonl", None))
        write_whole(str(self.path / CARD), card)
        (self.path / CURVE).unlink(missing_ok=True)
        if curve is not None:
            from ..plots.figure import save

            save(curve, str(self.path / CURVE))
        files = [*MODEL, CARD, CHECKS, *[CURVE] * (curve is not None)]
        print("\n".join([*lines, f"Model: {self.out} ({', '.join(files)})", *(f"Use: {line}" for line in uses)]))

    def _is_begun(self) -> bool:
        kept = (self.path / EMBEDDINGS).rglob("*")
        return (self.path / STATE).exists() or any(path.suffix in (".npy", ".f16") for path in kept)


def cache(kept: str, others: str) -> Any:
    """Return the flag --cache; its help names the content `kept` and the `others` that use it."""
    help = (
        f"Folder that keeps {kept} for other trainings {others}. (Default: a folder in --out, deleted when the training is "
        "done)"
    )
    return setting(help)


def name_of(path: str) -> str:
    """Return the last part of a path.

    >>> name_of("data/newstest2016/"), name_of("mqm.tsv")
    ('newstest2016', 'mqm.tsv')
    """
    return os.path.basename(os.path.abspath(path))


def can_plot() -> bool:
    from ..plots.figure import check

    try:
        check()
        return True
    except CtxMetricsError as error:
        notice(f"no learning curve is drawn: {error}")
    return False
