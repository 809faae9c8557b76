"""A cache of a frozen encoder's token states for training: on disk, bounded, resumable, the same bit for bit.

A text's states depend, in their last bits, on the texts that go through the network with it. So each text gets its chunk
once, by a plan that is on disk before anything is encoded, and a chunk is always encoded whole: after an interruption, or
again and again where the bound leaves no room for it, with the same result.

Files: cache.json (what made it), plan-N.safetensors (token ids), states.f16 (finished chunks, one after another), finished
(int64 pairs: the plan and the chunk of each of them), lock.
"""

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from ..engine.encoder import TextEncoder
from ..engine.store import EmbeddingStore
from ..engine.tokenizer import TokenIds
from ..errors import InputError, ModelError
from ..notices import counted, notice
from ..writing import replacing
from .cache_plan import Place, Plan

FORMAT = 1  # of the files, and of the rule that cuts plans into chunks
RECENT_BYTES = 2**28  # of chunks beyond the bound that stay in memory
TOKENIZED_AT_ONCE = 10_000  # the tokenizer's own results take much more memory than the ids
IDENTITY, STATES, FINISHED, LOCK = "cache.json", "states.f16", "finished", "lock"
MEND = "name another --cache folder or delete this one"


class EmbeddingCache:
    """States of the content tokens of texts, in fp16, encoded once and then read from disk.

    folder         where the files lie, made if it is not there; None keeps all in memory. One process at a time has it
    encoder        what encodes, in its own number format; results are rounded to fp16. Its store is neither read nor filled
    layers         the hidden layers to keep: 0 is the embedding layer
    ckpt           12 hex digits of the sha256 of the encoder's weights, as models.hub gives it
    max_content    most content tokens of a text; None for the most that the encoder takes
    limit_mb       bound, in MiB, of the folder's files together, or of the states in memory. Texts beyond it are encoded
                   whenever they are asked for. What an earlier run left in the folder is used and kept, whatever the bound

    The same fills in the same order, with the same engine options on the same machine, give the same states bit for bit,
    however often the process was stopped in between and whatever the bound. Raises InputError for a folder that another
    process uses, that was made with other settings, that holds something else, or that cannot be written.
    """

    def __init__(
        self,
        folder: Optional[Path],
        encoder: TextEncoder,
        layers: Sequence[int],
        ckpt: str,
        max_content: Optional[int] = None,
        limit_mb: int = 8192,
    ):
        self.folder = None if folder is None else Path(folder)
        self.encoder, self.layers, self.limit = encoder, tuple(layers), limit_mb * 2**20
        self.max_content = min(max_content or encoder.max_content, encoder.max_content)
        self._shape = (len(self.layers), encoder.width)
        self._token_bytes = 2 * len(self.layers) * encoder.width
        self._cut = 0
        self._plans: dict[int, Plan] = {}  # by number; below 0 those that had no room, whose chunks are not kept either
        self._planned: dict[bytes, Place] = {}  # by token ids, of all plans
        self._places: dict[str, Optional[Place]] = {}  # of all texts that were filled; None for those without tokens
        self._kept: dict[tuple[int, int], np.ndarray] = {}  # states of finished chunks, [tokens, layers, width]
        self._recent = EmbeddingStore(RECENT_BYTES)
        self._lock: Optional[FileLock] = None
        if self.folder is not None:
            try:
                self._open(ckpt)
            except BaseException as error:
                self.close()
                if isinstance(error, OSError):
                    raise self._unusable(error) from error
                raise

    def fill(self, texts: Sequence[str], label: str = "encoding") -> None:
        """Make texts known, and encode and keep what is not kept yet of them, with a progress bar.

        A notice counts the texts that the bound leaves out. Raises InputError where the folder cannot be written.
        """
        self._plan(texts)
        places = {place for text in texts if (place := self._places[text]) is not None}
        chosen, size = [], self._used()
        for number, chunk in sorted({place[:2] for place in places} - self._kept.keys()):
            more = self._plans[number].tokens(chunk) * self._token_bytes + 16  # with its entry among the finished
            if number >= 0 and size + more <= self.limit:
                chosen.append((number, chunk))
                size += more
        try:
            with self.encoder.progress(label, sum(len(self._plans[number].rows(chunk)) for number, chunk in chosen)):
                for number, chunk in chosen:
                    self._keep(number, chunk)
        finally:
            if self.folder is not None:
                self._map()
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

    @property
    def cut(self) -> int:
        """How many distinct texts that were filled lost tokens to max_content."""
        return self._cut

    def states(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """fp16 CPU tensor [content tokens, layers, width] of each text. All must have been filled."""
        found = [torch.empty(0, *self._shape, dtype=torch.float16) for _ in texts]
        places = [(place, i) for i, text in enumerate(texts) if (place := self._places[text]) is not None]
        for place, i in sorted(places):  # texts of one chunk one after another
            states = self._kept.get(place[:2])
            if states is None:
                states = self._beyond(place.plan, place.chunk)
            plan = self._plans[place.plan]
            first = plan.before[plan.chunks[place.chunk]]
            found[i] = torch.from_numpy(
                np.array(states[plan.before[place.row] - first : plan.before[place.row + 1] - first])
            )
        return found

    def close(self) -> None:
        """Let another process have the folder; the cache cannot be used from then on."""
        self._kept.clear()
        if self._lock is not None:
            self._lock.release()

    def _plan(self, texts: Sequence[str]) -> None:
        """Find each new text's place, in a new plan where no plan has it."""
        keys: dict[str, Optional[bytes]] = {}  # None for texts without tokens
        cut = 0
        fresh = list(dict.fromkeys(text for text in texts if text not in self._places))
        for start in range(0, len(fresh), TOKENIZED_AT_ONCE):
            some = fresh[start : start + TOKENIZED_AT_ONCE]
            for text, tokens in zip(some, self.encoder.tokenize(some, self.max_content)):
                keys[text] = tokens.key if tokens.content else None
                cut += tokens.cut > 0
        # equal lengths together, which is fast, and the short first, so that the bound leaves out few texts
        new = sorted({key for key in keys.values() if key} - self._planned.keys(), key=lambda key: (len(key), key))
        if new:
            ids = np.frombuffer(b"".join(new), np.int32)
            self._add_plan(ids, np.array([len(key) // ids.itemsize for key in new], np.int32))
        self._places.update({text: key and self._planned[key] for text, key in keys.items()})
        self._cut += cut

    def _add_plan(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Write a new plan; one that has no room comes out the same the next time."""
        number = max(self._plans, default=-1) + 1
        if self.folder is not None:
            data = save({"ids": ids, "lengths": lengths})
            if self._used() + len(data) <= self.limit:
                self._write(plan_file(number), data)
            else:
                number = min(self._plans, default=0) - 1
        self._know(number, Plan(ids, lengths))

    def _know(self, number: int, plan: Plan) -> None:
        self._plans[number] = plan
        for chunk in range(len(plan.chunks) - 1):
            for row in plan.rows(chunk):
                self._planned[plan.text(row).tobytes()] = Place(number, chunk, row)

    def _keep(self, number: int, chunk: int) -> None:
        """Encode a chunk and keep it."""
        states = self._encoded(number, chunk)
        if self.folder is None:
            self._kept[number, chunk] = states
            return
        try:
            for name, data in ((STATES, states), (FINISHED, np.array([number, chunk], np.int64))):
                with open(self.folder / name, "ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())  # no chunk may be called finished before its states are there
        except OSError as error:
            raise self._unusable(error) from error

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
        others = [path for path in self.folder.iterdir() if path.name != LOCK and not path.name.startswith(IDENTITY)]
        if others and not identity.exists():
            raise InputError(f"{self.folder} is no embedding cache, and not empty; name another --cache folder")
        self._lock = FileLock(self.folder / LOCK, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"embedding cache {self.folder} is in use by another process; wait for it or name another --cache folder"
            ) from error
        for path in self.folder.glob("*.tmp"):  # of a process that was killed
            path.unlink()
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
            self._write(IDENTITY, json.dumps(made_with, indent=2).encode())
        for path in sorted(self.folder.glob(plan_file("*"))):
            try:
                arrays = load_file(path)
                self._know(int(path.stem.split("-")[1]), Plan(arrays["ids"], arrays["lengths"]))
            except (SafetensorError, KeyError) as error:
                raise InputError(f"{path}: the file is damaged; {MEND}") from error
        self._map()

    def _map(self) -> None:
        """Find the finished chunks. What a killed process left after them goes; chunks that got lost are said."""
        states, finished = self.folder / STATES, self.folder / FINISHED
        for path in (states, finished):
            path.touch()
        entries = np.fromfile(finished, np.int64)
        entries = entries[: len(entries) // 2 * 2].reshape(-1, 2)
        try:
            ends = [0, *np.cumsum([self._plans[number].tokens(chunk) for number, chunk in entries.tolist()]).tolist()]
        except (KeyError, IndexError) as error:
            raise InputError(f"{finished}: the file does not fit its plans; {MEND}") from error
        there = bisect_right(ends, states.stat().st_size // self._token_bytes) - 1
        if there < len(entries):
            notice(
                f"{states}: the file is damaged; {counted(len(entries) - there, 'chunk is', 'chunks are')} encoded again"
            )
        for path, size in ((finished, 16 * there), (states, ends[there] * self._token_bytes)):
            if path.stat().st_size > size:
                os.truncate(path, size)
        shape = (ends[there], *self._shape)
        data = np.memmap(states, np.float16, "r", shape=shape).view(np.ndarray) if there else None  # none of size 0
        self._kept = {tuple(e): data[start:end] for e, start, end in zip(entries[:there].tolist(), ends, ends[1:])}

    def _used(self) -> int:
        """Bytes of the limit that are taken."""
        if self.folder is None:
            return sum(states.nbytes for states in self._kept.values())
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _write(self, name: str, data: bytes) -> None:
        """Write a file that appears whole or not at all."""
        try:
            with replacing(str(self.folder / name)) as beside, open(beside, "wb") as file:
                file.write(data)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot use {self.folder} as embedding cache: {error.strerror or error}; name another --cache folder"
        )


def plan_file(number) -> str:
    return f"plan-{number:0>4}.safetensors"


def check_identity(path: Path, made_with: dict) -> None:
    """Refuse a folder that was made with other settings."""
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise InputError(f"{path}: the file is damaged; {MEND}") from error
    other = [f"{name} {found.get(name)}, not {value}" for name, value in made_with.items() if found.get(name) != value]
    if other:
        raise InputError(f"embedding cache {path.parent} was made with {'; '.join(other)}: {MEND}")
