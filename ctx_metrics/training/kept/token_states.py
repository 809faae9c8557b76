"""A cache of a frozen encoder's token states for training: on disk, bounded, resumable, the same bit for bit.

A text's states depend, in their last bits, on the texts that go through the network with it. So each text gets its chunk
once, by a plan that is on disk before anything is encoded, and a chunk is always encoded whole: after an interruption, or
again and again where the bound leaves no room for it, with the same result.

Files: cache.json (what made it), plan-N.safetensors (token ids), states.f16 (finished chunks, one after another), finished
(int64 triples: the plan, the chunk and the checksum of each of them), lock. A chunk that the disk has changed is encoded
again, and stands once more at the end.
"""

import json
import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ...engine.encoder import TextEncoder
from ...engine.store import EmbeddingStore
from ...engine.tokenizer import TokenIds
from ...errors import InputError, ModelError
from ...notices import counted, notice
from ...writing import checksum, leftovers, os_errors, remove_leftovers, write_bytes
from .plan import Place, Plan

FORMAT = 2  # of the files, and of the rule that cuts plans into chunks
RECENT_BYTES = 2**28  # of chunks beyond the bound that stay in memory
TOKENIZED_AT_ONCE = 10_000  # the tokenizer's own results take much more memory than the ids
IDENTITY, STATES, FINISHED, LOCK = "cache.json", "states.f16", "finished", "lock"
ENTRY = np.dtype([("plan", np.int64), ("chunk", np.int64), ("checksum", np.int64)])
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
        folder: Path | None,
        encoder: TextEncoder,
        layers: Sequence[int],
        ckpt: str,
        max_content: int | None = None,
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
        self._places: dict[str, Place | None] = {}  # of all texts that were filled; None for those without tokens
        self._kept: dict[tuple[int, int], np.ndarray] = {}  # states of finished chunks, [tokens, layers, width]
        self._entries: dict[
            tuple[int, int], tuple[int, int]
        ] = {}  # of those in the folder: which entry, and its checksum
        self._sound: set[int] = set()  # entries that were checked
        self._damaged: set[int] = set()
        self._recent = EmbeddingStore(RECENT_BYTES)
        self._lock: FileLock | None = None
        if self.folder is not None:
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
            more = self._plans[number].tokens(chunk) * self._token_bytes + ENTRY.itemsize
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

    @property
    def _disk(self) -> Path:
        """The folder of a cache that has one."""
        if self.folder is None:
            raise ValueError("this cache keeps all in memory")
        return self.folder

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
            self._add_plan(ids, np.array([len(key) // ids.itemsize for key in new], np.int32))
        self._places.update({text: None if key is None else self._planned[key] for text, key in keys.items()})
        self._cut += cut

    def _add_plan(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Write a new plan; one that has no room comes out the same the next time."""
        number = max(self._plans, default=-1) + 1
        if self.folder is not None:
            data = save({"ids": ids, "lengths": lengths}, {"checksum": str(checksum(ids.data, lengths.data))})
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
        entry = np.array((number, chunk, of_chunk(number, chunk, states)), ENTRY)
        with self._os_errors():
            for name, data in ((STATES, states.data), (FINISHED, entry.tobytes())):
                with open(self._disk / name, "ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())  # no chunk may be called finished before its states are there

    def _check(self, chunks: set[tuple[int, int]]) -> None:
        """Forget those of the chunks that are not on the disk as they were written, and say how many."""
        before = len(self._damaged)
        for key in chunks & self._entries.keys():
            number, written = self._entries[key]
            if number in self._sound or of_chunk(*key, self._kept[key]) == written:
                self._sound.add(number)
            else:
                self._damaged.add(number)
                del self._kept[key], self._entries[key]
        self._say_damage(len(self._damaged) - before)

    def _say_damage(self, chunks: int) -> None:
        if chunks:
            notice(
                f"{self._disk / STATES}: the file is damaged; {counted(chunks, 'chunk is', 'chunks are')} encoded again"
            )

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
        self._disk.mkdir(parents=True, exist_ok=True)
        identity = self._disk / IDENTITY
        others = {path for path in self._disk.iterdir() if path.name != LOCK} - {*leftovers(self._disk)}
        if others and not identity.exists():
            raise InputError(f"{self._disk} is no embedding cache, and not empty; name another --cache folder")
        self._lock = FileLock(self._disk / LOCK, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"embedding cache {self._disk} is in use by another process; wait for it or name another --cache folder"
            ) from error
        remove_leftovers(self._disk)
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
        for path in sorted(self._disk.glob(plan_file("*"))):
            self._know(int(path.stem.split("-")[1]), Plan(*read_plan(path)))
        self._map()

    def _map(self) -> None:
        """Find the finished chunks. What a killed process left after them goes; chunks that got lost are said."""
        states, finished = self._disk / STATES, self._disk / FINISHED
        for path in (states, finished):
            path.touch()
        entries = np.fromfile(finished, ENTRY).tolist()  # without the half of one that a killed process leaves
        try:
            ends = [0, *np.cumsum([self._plans[number].tokens(chunk) for number, chunk, _ in entries]).tolist()]
        except (KeyError, IndexError) as error:
            raise InputError(f"{finished}: the file does not fit its plans; {MEND}") from error
        there = bisect_right(ends, states.stat().st_size // self._token_bytes) - 1
        self._say_damage(len(entries) - there)
        for path, size in ((finished, ENTRY.itemsize * there), (states, ends[there] * self._token_bytes)):
            if path.stat().st_size > size:
                os.truncate(path, size)
        shape = (ends[there], *self._shape)
        # no file of size 0 can be mapped
        data = (
            np.memmap(states, np.float16, "r", shape=shape).view(np.ndarray) if there else np.zeros(shape, np.float16)
        )
        sound = [number for number in range(there) if number not in self._damaged]
        self._kept = {entries[number][:2]: data[ends[number] : ends[number + 1]] for number in sound}
        self._entries = {entries[number][:2]: (number, entries[number][2]) for number in sound}

    def _used(self) -> int:
        """Bytes of the limit that are taken."""
        if self.folder is None:
            return sum(states.nbytes for states in self._kept.values())
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _write(self, name: str, data: bytes) -> None:
        """Write a file that appears whole or not at all."""
        write_bytes(str(self._disk / name), data, "; name another --cache folder")

    def _os_errors(self) -> AbstractContextManager[None]:
        return os_errors(f"cannot use {self._disk} as embedding cache", "; name another --cache folder")


def plan_file(number: int | str) -> str:
    """The name of the file that holds the plan with this number."""
    return f"plan-{number:0>4}.safetensors"


def of_chunk(number: int, chunk: int, states: np.ndarray) -> int:
    """The checksum of a chunk of a plan, which another chunk in its place would not have."""
    return checksum(np.array([number, chunk]).data, states.data)


def read_plan(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A plan's token ids and lengths; raises InputError for a file that is damaged."""
    try:
        with safe_open(path, "np") as file:
            ids, lengths, written = file.get_tensor("ids"), file.get_tensor("lengths"), file.metadata()["checksum"]
    except (SafetensorError, KeyError, TypeError) as error:
        raise InputError(f"{path}: the file is damaged; {MEND}") from error
    if written != str(checksum(ids.data, lengths.data)):
        raise InputError(f"{path}: the file is damaged; {MEND}")
    return ids, lengths


def check_identity(path: Path, made_with: dict) -> None:
    """Refuse a folder that was made with other settings."""
    try:
        found = dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise InputError(f"{path}: the file is damaged; {MEND}") from error
    other = [f"{name} {found.get(name)}, not {value}" for name, value in made_with.items() if found.get(name) != value]
    if other:
        raise InputError(f"embedding cache {path.parent} was made with {'; '.join(other)}: {MEND}")
