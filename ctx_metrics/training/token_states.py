"""A disk cache of a frozen encoder's token states for training: bounded, resumable, reproducible bit for bit.

The last bits of a text's states depend on the other texts in its batch. So each text is assigned to a chunk once, by a plan
that is written to disk before encoding, and a chunk is always encoded as a whole. The result is therefore the same after an
interruption, and each time if the size limit leaves no room for the chunk.

Files: cache.json (settings of the cache), plan-N (texts, in the format of `as_bytes`), chunk-N-C.f16 (the states of the
finished chunk C of plan N), lock. A damaged chunk is encoded again.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from filelock import FileLock, Timeout

from ..engine.device import computes_in_tf32
from ..engine.encoder import TextEncoder
from ..engine.store import EmbeddingStore
from ..engine.tokenizer import TokenIds
from ..errors import InputError, ModelError
from ..notices import counted, notice
from ..writing import checksum, leftovers, os_errors, remove_leftovers, write_bytes

FORMAT = 3  # version of the files, and of the rule that splits plans into chunks
CHUNK_TOKENS = 512  # enough for a CPU's full speed; more would make texts beyond the size limit more expensive
ID_BYTES = 4  # texts are stored as token ids, including special ones: int32, as bytes
RECENT_BYTES = 2**28  # memory for recent chunks beyond the size limit
TOKENIZED_AT_ONCE = 10_000  # the tokenizer's own results take much more memory than the ids
IDENTITY, LOCK = "cache.json", "lock"
SUM_BYTES = 4
OTHER_CACHE = "name another --cache folder"


class Chunk(NamedTuple):
    """Texts that are encoded together; `file` holds their states, None if they may not be stored."""

    texts: list[bytes]
    file: Path | None

    @property
    def ends(self) -> list[int]:
        """0, then the cumulative number of content tokens at the end of each text."""
        return [0, *accumulate(len(text) // ID_BYTES - 2 for text in self.texts)]

    @property
    def identity(self) -> bytes:
        return b"".join(self.texts)


class EmbeddingCache:
    """States of texts' content tokens, in fp16, encoded once and then read from disk.

    folder         folder of the files, created if it does not exist; None: a temporary one. Only one process at a time can
                   use it
    encoder        encodes in its own number format; results are rounded to fp16. Its store is neither read nor filled
    layers         the hidden layers to store: 0 is the embedding layer
    ckpt           12 hex digits of the sha256 of the encoder's weights, from models.hub
    max_content    maximum number of content tokens of a text; None: the encoder's maximum
    limit_mb       size limit, in MiB, of all files in the folder. Texts beyond it are encoded each time they are requested.
                   Files from an earlier run are used and kept, whatever the limit

    The same fills in the same order, with the same engine options on the same machine, give the same states bit for bit,
    regardless of interruptions and of the limit. `cut` counts the distinct texts that max_content truncated.
    """

    def __init__(
        self,
        folder: Path | None,
        encoder: TextEncoder,
        *,
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
        self._token_bytes = 2 * len(self.layers) * encoder.width
        self.cut = 0
        self._chunks: list[Chunk] = []  # of all plans; those of a plan without room are not stored
        self._next = 0  # number of the next plan
        self._planned: dict[bytes, tuple[int, int]] = {}  # place of each text: its chunk, and its row there
        self._places: dict[str, tuple[int, int] | None] = {}  # of all filled texts; None for texts without tokens
        self._kept: set[int] = set()  # finished chunks
        self._sound: set[int] = set()  # finished chunks whose file was checked
        self._recent = EmbeddingStore(RECENT_BYTES)
        self._lock: FileLock | None = None
        try:
            with self._os_errors():
                self._open(ckpt)
        except BaseException:
            self.close()
            raise

    def fill(self, texts: Sequence[str], label: str = "encoding") -> None:
        """Register texts, and encode and store those that are not stored yet, with a progress bar."""
        self._plan(texts)
        places = {place for text in texts if (place := self._places[text]) is not None}
        wanted = {chunk for chunk, _ in places}
        self._check(wanted)
        chosen, size = [], self._used()
        for number in sorted(wanted - self._kept):
            chunk = self._chunks[number]
            more = chunk.ends[-1] * self._token_bytes + SUM_BYTES
            if chunk.file is not None and size + more <= self.limit:
                chosen.append((number, chunk, chunk.file))
                size += more
        with self.encoder.progress(label, sum(len(chunk.texts) for _, chunk, _ in chosen)):
            for number, chunk, file in chosen:
                write_cached(file, self._encoded(chunk).tobytes(), chunk.identity)
                self._kept.add(number)
                self._sound.add(number)
        beyond = sum(chunk not in self._kept for chunk, _ in places)
        if beyond:
            notice(
                f"{label}: {beyond} of {counted(len(places), 'text', 'texts')} are beyond the embedding cache's bound of "
                f"{self.limit // 2**20} MiB and are encoded again whenever they are read; --cache-mb raises it"
            )

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of stored content tokens of each text, 0 if it is empty. All texts must have been filled."""
        places = [self._places[text] for text in texts]
        return [0 if place is None else self._part(*place)[1] for place in places]

    def states(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """Return an fp16 CPU tensor [content tokens, layers, width] for each text. All texts must have been filled."""
        of_texts = [torch.empty(0, *self._shape, dtype=torch.float16) for _ in texts]
        places = [(place, i) for i, text in enumerate(texts) if (place := self._places[text]) is not None]
        for (number, row), i in sorted(places):  # process the texts of a chunk together
            start, length = self._part(number, row)
            if number not in self._kept:
                of_texts[i] = torch.from_numpy(np.array(self._beyond(number)[start : start + length]))
                continue
            count, offset = length * self._token_bytes // 2, start * self._token_bytes
            with self._os_errors():
                numbers = np.fromfile(str(self._chunks[number].file), np.float16, count, offset=offset)
            of_texts[i] = torch.from_numpy(numbers.reshape(-1, *self._shape))
        return of_texts

    def _part(self, number: int, row: int) -> tuple[int, int]:
        start, end = self._chunks[number].ends[row : row + 2]
        return start, end - start

    def close(self) -> None:
        self._kept.clear()
        if self._lock is not None:
            self._lock.release()
        if self._own is not None:
            self._own.cleanup()

    def _plan(self, texts: Sequence[str]) -> None:
        """Find the place of each new text, adding a plan for texts that are in none."""
        keys: dict[str, bytes | None] = {}  # None for texts without tokens
        cut = 0
        fresh = list(dict.fromkeys(text for text in texts if text not in self._places))
        for start in range(0, len(fresh), TOKENIZED_AT_ONCE):
            some = fresh[start : start + TOKENIZED_AT_ONCE]
            for text, tokens in zip(some, self.encoder.tokenizer(some, self.max_content), strict=True):
                keys[text] = tokens.key if tokens.content else None
                cut += tokens.cut > 0
        # equal lengths together for speed, and short texts first, so that few texts are beyond the limit
        new = sorted({key for key in keys.values() if key} - self._planned.keys(), key=lambda key: (len(key), key))
        if new:
            self._add_plan(new)
        self._places.update({text: None if key is None else self._planned[key] for text, key in keys.items()})
        self.cut += cut

    def _add_plan(self, texts: list[bytes]) -> None:
        """Write a new plan, if there is room; otherwise the next run computes the same plan again."""
        content = as_bytes(texts)
        has_room = self._used() + len(content) + SUM_BYTES <= self.limit
        if has_room:
            write_cached(self.folder / f"plan-{self._next:0>4}", content)
        self._know(texts, self._next if has_room else None)

    def _know(self, texts: list[bytes], plan: int | None) -> None:
        for number, chunk in enumerate(chunked(texts)):
            file = None if plan is None else self.folder / f"chunk-{plan:0>4}-{number:0>6}.f16"
            self._planned.update({text: (len(self._chunks), row) for row, text in enumerate(chunk)})
            self._chunks.append(Chunk(chunk, file))
        self._next = self._next if plan is None else plan + 1

    def _check(self, chunks: set[int]) -> None:
        with self._os_errors():
            unchecked = [(number, self._chunks[number]) for number in (chunks & self._kept) - self._sound]
            damaged = {
                number for number, chunk in unchecked if read_cached(Path(str(chunk.file)), chunk.identity) is None
            }
        self._kept -= damaged
        self._sound |= chunks & self._kept
        if damaged:
            notice(f"{self.folder}: {counted(len(damaged), 'chunk is', 'chunks are')} damaged and encoded again")

    def _beyond(self, number: int) -> np.ndarray:
        """Return the states of a chunk that is not stored."""
        recent = self._recent.get(number, {()})
        if recent is None:
            recent = {(): torch.from_numpy(self._encoded(self._chunks[number]))}
            self._recent.put(number, recent)
        return recent[()].numpy()

    def _encoded(self, chunk: Chunk) -> np.ndarray:
        """Encode all texts of a chunk: fp16 [content tokens, layers, width]."""
        kept = self.encoder.store
        self.encoder.store = EmbeddingStore(0)  # stored texts would be left out of the batch and change it
        try:
            tokens = [TokenIds(np.frombuffer(text, np.int32), 0) for text in chunk.texts]
            layers = self.encoder.encode(tokens, [(layer,) for layer in self.layers])
        finally:
            self.encoder.store = kept
        states = torch.cat([torch.stack([each[layer,][1:-1] for layer in self.layers], 1) for each in layers]).half()
        if not states.isfinite().all():
            raise ModelError(
                f"{self.encoder.checkpoint.folder}: its layers {list(self.layers)} hold numbers that fp16 cannot",
                fix="choose other layers",
            )
        return states.numpy()

    def _open(self, ckpt: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        identity = self.folder / IDENTITY
        others = {path for path in self.folder.iterdir() if path.name != LOCK} - {*leftovers(self.folder)}
        if others and not identity.exists():
            raise InputError(
                f"{self.folder} is not an embedding cache, and not empty", fix="name another --cache folder"
            )
        self._lock = FileLock(self.folder / LOCK, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"embedding cache {self.folder} is in use by another process",
                fix="wait for it or name another --cache folder",
            ) from error
        remove_leftovers(self.folder)
        dtype = str(self.encoder.dtype).removeprefix("torch.")
        made_with = {
            "format": FORMAT,
            "ckpt": ckpt,
            "layers": list(self.layers),
            "width": self.encoder.width,
            "max_content": self.max_content,
            "dtype": "tf32" if dtype == "float32" and computes_in_tf32(self.encoder.device) else dtype,
            "torch": torch.__version__,
        }
        if identity.exists():
            check_identity(identity, made_with)
        else:
            write_bytes(str(identity), json.dumps(made_with, indent=2).encode(), OTHER_CACHE)
        for path in sorted(self.folder.glob("plan-*")):
            if (content := read_cached(path)) is None:
                raise InputError(f"{path}: the file is damaged", fix=f"{OTHER_CACHE} or delete this one")
            self._know(from_bytes(content), int(path.name.split("-")[1]))
        self._kept = {number for number, chunk in enumerate(self._chunks) if chunk.file and chunk.file.exists()}

    def _used(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _os_errors(self) -> AbstractContextManager[None]:
        return os_errors(f"cannot use {self.folder} as embedding cache", OTHER_CACHE)


def check_identity(path: Path, made_with: dict) -> None:
    try:
        written = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: the file is damaged", fix=f"{OTHER_CACHE} or delete this one") from error
    other = [
        f"{name} {written.get(name)}, not {value}" for name, value in made_with.items() if written.get(name) != value
    ]
    if other:
        raise InputError(
            f"embedding cache {path.parent} was made with {'; '.join(other)}: {OTHER_CACHE} or delete this one"
        )


def as_bytes(texts: Sequence[bytes]) -> bytes:
    """Serialise a plan: the number of texts and the length of each in bytes, as int32, then the texts."""
    return np.array([len(texts), *map(len, texts)], np.int32).tobytes() + b"".join(texts)


def from_bytes(content: bytes) -> list[bytes]:
    number, *lengths = np.frombuffer(content, np.int32, 1 + int.from_bytes(content[:ID_BYTES], "little")).tolist()
    return [content[start:end] for start, end in pairwise(accumulate(lengths, initial=ID_BYTES * (1 + number)))]


def chunked(texts: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Split texts into chunks of at most CHUNK_TOKENS tokens, or of one text, in their order."""
    chunk: list[bytes] = []
    used = 0
    for text in texts:
        tokens = len(text) // ID_BYTES
        if chunk and used + tokens > CHUNK_TOKENS:
            yield chunk
            chunk, used = [], 0
        chunk.append(text)
        used += tokens
    if chunk:
        yield chunk


def write_cached(path: Path, content: bytes, of: bytes = b"") -> None:
    """Write a file; `read_cached` treats it as damaged if its content or its identity `of` differs."""
    write_bytes(str(path), content + checksum(of, content).to_bytes(SUM_BYTES, "little"), OTHER_CACHE)


def read_cached(path: Path, of: bytes = b"") -> bytes | None:
    """Return the content of a file, or None if it is damaged; raise OSError if it cannot be read."""
    content = path.read_bytes()
    is_sound = checksum(of, content[:-SUM_BYTES]) == int.from_bytes(content[-SUM_BYTES:], "little")
    return content[:-SUM_BYTES] if is_sound else None
