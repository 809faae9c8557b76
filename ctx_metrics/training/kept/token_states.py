"""A cache of a frozen encoder's token states for training: on disk, bounded, resumable, the same bit for bit.

A text's states depend, in their last bits, on the texts that go through the network with it. So each text gets its chunk
once, by a plan that is on disk before anything is encoded, and a chunk is always encoded whole: after an interruption, or
again and again where the bound leaves no room for it, with the same result.

Files: cache.json (what made it), plan-N (token ids, as plan.Plan has them), chunk-N-C.f16 (the states of a finished chunk C
of plan N), lock. A chunk that the disk has changed is encoded again.
"""

import json
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock, Timeout

from ...engine.encoder import TextEncoder
from ...engine.store import EmbeddingStore
from ...engine.tokenizer import TokenIds
from ...errors import InputError, ModelError
from ...notices import counted, notice
from ...writing import leftovers, os_errors, remove_leftovers, write_bytes
from .files import MEND, SUM_BYTES, read_kept, write_kept
from .plan import Place, Plan

FORMAT = 3  # of the files, and of the rule that cuts plans into chunks
RECENT_BYTES = 2**28  # of chunks beyond the bound that stay in memory
TOKENIZED_AT_ONCE = 10_000  # the tokenizer's own results take much more memory than the ids
IDENTITY, LOCK = "cache.json", "lock"


class EmbeddingCache:
    """States of the content tokens of texts, in fp16, encoded once and then read from disk.

    folder         where the files lie, made if it is not there; None: one that goes with it. One process at a time has it
    encoder        what encodes, in its own number format; results are rounded to fp16. Its store is neither read nor filled
    layers         the hidden layers to keep: 0 is the embedding layer
    ckpt           12 hex digits of the sha256 of the encoder's weights, as models.hub gives it
    max_content    most content tokens of a text; None for the most that the encoder takes
    limit_mb       bound, in MiB, of the folder's files together. Texts beyond it are encoded whenever they are asked for.
                   What an earlier run left in the folder is used and kept, whatever the bound

    The same fills in the same order, with the same engine options on the same machine, give the same states bit for bit,
    however often the process was stopped in between and whatever the bound. `cut` counts the distinct texts that were filled
    and lost tokens to max_content. Raises InputError for a folder that another
    process uses, that was made with other settings, that holds something else, or that cannot be written.
    """

    def __init__(
        self,
        folder: Path | None,
        encoder: TextEncoder,
        layers: Sequence[int],
        ckpt: str,
        max_content: int | None = None,
        limit_mb: int = 8192,
    ):
        self._own = tempfile.TemporaryDirectory() if folder is None else None
        self.folder = Path(self._own.name if self._own else str(folder))
        self.encoder, self.layers, self.limit = encoder, tuple(layers), limit_mb * 2**20
        self.max_content = min(max_content or encoder.max_content, encoder.max_content)
        self._shape = (len(self.layers), encoder.width)
        self._numbers = len(self.layers) * encoder.width
        self._token_bytes = 2 * self._numbers
        self.cut = 0
        self._plans: dict[int, Plan] = {}  # by number; below 0 those that had no room, whose chunks are not kept either
        self._planned: dict[bytes, Place] = {}  # by token ids, of all plans
        self._places: dict[str, Place | None] = {}  # of all texts that were filled; None for those without tokens
        self._kept: dict[tuple[int, int], Path] = {}  # the files of finished chunks
        self._sound: set[tuple[int, int]] = set()  # chunks whose file was checked
        self._recent = EmbeddingStore(RECENT_BYTES)
        self._lock: FileLock | None = None
        try:
            with self._os_errors():
                self._open(ckpt)
        except BaseException:
            self.close()
            raise

    def fill(self, texts: Sequence[str], label: str = "encoding") -> None:
        """Make texts known, and encode and keep what is not kept yet of them, with a progress bar.

        Notices count the chunks whose checksum tells of damage, which are encoded again, and the texts that the bound leaves
        out. Raises InputError where the folder cannot be written.
        """
        self._plan(texts)
        places = {place for text in texts if (place := self._places[text]) is not None}
        self._check({place[:2] for place in places})
        chosen, size = [], self._used()
        for number, chunk in sorted({place[:2] for place in places} - self._kept.keys()):
            more = self._plans[number].tokens(chunk) * self._token_bytes + SUM_BYTES
            if number >= 0 and size + more <= self.limit:
                chosen.append((number, chunk))
                size += more
        with self.encoder.progress(label, sum(len(self._plans[number].rows(chunk)) for number, chunk in chosen)):
            for number, chunk in chosen:
                self._keep(number, chunk)
        beyond = sum(place[:2] not in self._kept for place in places)
        if beyond:
            notice(
                f"{label}: {beyond} of {counted(len(places), 'text', 'texts')} are beyond the embedding cache's bound of "
                f"{self.limit // 2**20} MiB and are encoded again whenever they are read; --cache-mb raises it"
            )

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Content tokens kept of each text, specials not counted; 0 for an empty one. All must have been filled."""
        places = [self._places[text] for text in texts]
        return [0 if place is None else len(self._plans[place.plan].text(place.row)) - 2 for place in places]

    def states(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """fp16 CPU tensor [content tokens, layers, width] of each text. All must have been filled."""
        found = [torch.empty(0, *self._shape, dtype=torch.float16) for _ in texts]
        places = [(place, i) for i, text in enumerate(texts) if (place := self._places[text]) is not None]
        for place, i in sorted(places):  # texts of one chunk one after another
            part = self._plans[place.plan].part(place)
            kept = self._kept.get(place[:2])
            if kept is None:
                found[i] = torch.from_numpy(np.array(self._beyond(place.plan, place.chunk)[part]))
                continue
            count, offset = (part.stop - part.start) * self._numbers, part.start * self._token_bytes
            with self._os_errors():
                numbers = np.fromfile(kept, np.float16, count, offset=offset)
            found[i] = torch.from_numpy(numbers.reshape(-1, *self._shape))
        return found

    def close(self) -> None:
        """Let another process have the folder; the cache cannot be used from then on."""
        self._kept.clear()
        if self._lock is not None:
            self._lock.release()
        if self._own is not None:
            self._own.cleanup()

    def _plan(self, texts: Sequence[str]) -> None:
        """Find each new text's place, in a new plan where no plan has it."""
        keys: dict[str, bytes | None] = {}  # None for texts without tokens
        cut = 0
        fresh = list(dict.fromkeys(text for text in texts if text not in self._places))
        for start in range(0, len(fresh), TOKENIZED_AT_ONCE):
            some = fresh[start : start + TOKENIZED_AT_ONCE]
            for text, tokens in zip(some, self.encoder.tokenizer(some, self.max_content), strict=True):
                keys[text] = tokens.key if tokens.content else None
                cut += tokens.cut > 0
        # equal lengths together, which is fast, and the short first, so that the bound leaves out few texts
        new = sorted({key for key in keys.values() if key} - self._planned.keys(), key=lambda key: (len(key), key))
        if new:
            ids = np.frombuffer(b"".join(new), np.int32)
            self._add_plan(Plan(ids, np.array([len(key) // ids.itemsize for key in new])))
        self._places.update({text: None if key is None else self._planned[key] for text, key in keys.items()})
        self.cut += cut

    def _add_plan(self, plan: Plan) -> None:
        """Write a new plan; one that has no room comes out the same the next time."""
        number, content = max(self._plans, default=-1) + 1, plan.as_bytes()
        if self._used() + len(content) + SUM_BYTES <= self.limit:
            write_kept(self.folder / f"plan-{number:0>4}", content)
        else:
            number = min(self._plans, default=0) - 1
        self._know(number, plan)

    def _know(self, number: int, plan: Plan) -> None:
        self._plans[number] = plan
        self._planned.update(plan.places(number))

    def _keep(self, number: int, chunk: int) -> None:
        """Encode a chunk and keep it."""
        states = self._encoded(number, chunk)
        path = self.folder / f"chunk-{number:0>4}-{chunk:0>6}.f16"
        write_kept(path, states.tobytes(), self._plans[number].identity(chunk))
        self._kept[number, chunk] = path
        self._sound.add((number, chunk))

    def _check(self, chunks: set[tuple[int, int]]) -> None:
        """Forget those of the chunks that are not on the disk as they were written, and say how many."""
        damaged = 0
        for number, chunk in (chunks & self._kept.keys()) - self._sound:
            with self._os_errors():
                is_sound = read_kept(self._kept[number, chunk], self._plans[number].identity(chunk)) is not None
            if is_sound:
                self._sound.add((number, chunk))
            else:
                damaged += 1
                del self._kept[number, chunk]
        if damaged:
            notice(f"{self.folder}: {counted(damaged, 'chunk is', 'chunks are')} damaged and encoded again")

    def _beyond(self, number: int, chunk: int) -> np.ndarray:
        """The states of a chunk that is not kept."""
        recent = self._recent.get((number, chunk), [()])
        if recent is None:
            recent = {(): torch.from_numpy(self._encoded(number, chunk))}
            self._recent.put((number, chunk), recent)
        return recent[()].numpy()

    def _encoded(self, number: int, chunk: int) -> np.ndarray:
        """fp16 [content tokens, layers, width] of all texts of a chunk."""
        plan, kept = self._plans[number], self.encoder.store
        self.encoder.store = EmbeddingStore(0)  # what a store holds would be left out of the batch, and change it
        try:
            tokens = [TokenIds(plan.text(row), 0) for row in plan.rows(chunk)]
            found = self.encoder.encode(tokens, [(layer,) for layer in self.layers])
        finally:
            self.encoder.store = kept
        states = torch.cat([torch.stack([each[layer,][1:-1] for layer in self.layers], 1) for each in found]).half()
        if not states.isfinite().all():
            raise ModelError(
                f"{self.encoder.checkpoint.folder}: its layers {list(self.layers)} hold numbers that fp16 cannot; "
                "choose other layers"
            )
        return states.numpy()

    def _open(self, ckpt: str) -> None:
        """Take the folder, check what made it, and find what it holds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        identity = self.folder / IDENTITY
        others = {path for path in self.folder.iterdir() if path.name != LOCK} - {*leftovers(self.folder)}
        if others and not identity.exists():
            raise InputError(f"{self.folder} is no embedding cache, and not empty; name another --cache folder")
        self._lock = FileLock(self.folder / LOCK, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"embedding cache {self.folder} is in use by another process; wait for it or name another --cache folder"
            ) from error
        remove_leftovers(self.folder)
        made_with = {
            "format": FORMAT,
            "ckpt": ckpt,
            "layers": list(self.layers),
            "width": self.encoder.width,
            "max_content": self.max_content,
            "dtype": str(self.encoder.dtype).removeprefix("torch."),
            "torch": torch.__version__,
        }
        if identity.exists():
            check_identity(identity, made_with)
        else:
            write_bytes(str(identity), json.dumps(made_with, indent=2).encode(), MEND)
        for path in sorted(self.folder.glob("plan-*")):
            if (content := read_kept(path)) is None:
                raise InputError(f"{path}: the file is damaged{MEND} or delete this one")
            self._know(int(path.name.split("-")[1]), Plan.from_bytes(content))
        for path in self.folder.glob("chunk-*.f16"):
            number, chunk = map(int, path.stem.split("-")[1:])
            if number in self._plans and chunk < len(self._plans[number].chunks) - 1:
                self._kept[number, chunk] = path

    def _used(self) -> int:
        """Bytes of the limit that are taken."""
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _os_errors(self) -> AbstractContextManager[None]:
        return os_errors(f"cannot use {self.folder} as embedding cache", MEND)


def check_identity(path: Path, made_with: dict) -> None:
    """Refuse a folder that was made with other settings."""
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise InputError(f"{path}: the file is damaged{MEND} or delete this one") from error
    other = [f"{name} {found.get(name)}, not {value}" for name, value in made_with.items() if found.get(name) != value]
    if other:
        raise InputError(
            f"embedding cache {path.parent} was made with {'; '.join(other)}:{MEND[1:]} or delete this one"
        )
