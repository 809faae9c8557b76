"""Split words into the pieces of a unigram model (Kudo 2018) held in arrays; as a tree, 250,000 pieces take 260 MB."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

MARK = "▁"  # precedes each word
LETTERS_AT_ONCE = 2**14  # or one word more; limits how many pieces are Python objects at a time
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_UNKNOWN_COST = 10.0  # an unknown letter scores this much less than the worst piece


class Unigram:
    """Computes the same token ids as the library tokenizers does with its Unigram and Metaspace.

    letters       the letters of all pieces, one after another, as code points, uint32 [letters]
    begins        where each piece's letters begin, then where the last one's end, int64 [pieces + 1]
    scores        the score of each piece, fp64 [pieces]
    specials      ids of special pieces, such as <s>, which are found only where a text contains them literally
    unknown       id of letters that no piece contains; a run of them in a word is one token
    normalizer    applied before a text is split into words at blanks
    """

    def __init__(
        self,
        letters: np.ndarray,
        begins: np.ndarray,
        scores: np.ndarray,
        *,
        specials: dict[str, int],
        unknown: int,
        normalizer: "Normalizer",
    ):
        self._letters, self._begins, self._scores = letters, begins, scores
        self.specials, self._unknown, self._normalizer = specials, unknown, normalizer
        self._special = re.compile(f"({'|'.join(map(re.escape, specials))})")
        lengths = np.diff(begins)
        lengths[list(specials.values())] = 0
        self._tables = [self._table(np.flatnonzero(lengths == n), n) for n in range(1, int(lengths.max()) + 1)]

    def _table(self, ids: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """The sorted hashes, uint64 [pieces], and the ids, int64 [pieces], of pieces with `length` letters."""
        hashes = np.zeros(len(ids), np.uint64)
        for n in range(length):
            hashes = hashes * _FACTOR + self._letters[self._begins[ids] + n]
        order = np.argsort(hashes)
        return hashes[order], ids[order]

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        of_texts = [self._words(text) for text in texts]
        words = list(dict.fromkeys(word for word in chain.from_iterable(of_texts) if word[0] == MARK))
        ids = {name: [number] for name, number in self.specials.items()}
        parts = np.cumsum([len(word) for word in words]) // LETTERS_AT_ONCE
        for some in np.split(np.arange(len(words)), np.flatnonzero(np.diff(parts)) + 1):
            block = [words[i] for i in some]
            ids.update(zip(block, self._segmented(block), strict=True))
        return [[number for word in of_text for number in ids[word]] for of_text in of_texts]

    def _words(self, text: str) -> list[str]:
        words: list[str] = []
        for part in self._special.split(text):
            if part in self.specials:
                words.append(part)
            elif part:
                words += [
                    word if word[0] == MARK else MARK + word
                    for word in self._normalizer.normalize_str(part).split(" ")
                    if word
                ]
        return words

    def _segmented(self, words: list[str]) -> list[list[int]]:
        """The ids of each word's most probable pieces; of equally probable splits, the one with the longest last piece."""
        if not words:
            return []
        letters = np.frombuffer("".join(words).encode("utf-32-le"), "<u4")
        lengths = np.array([len(word) for word in words])
        starts, sizes, ids, scores = self._pieces_in(letters, np.repeat(lengths.cumsum(), lengths))
        order = np.lexsort((sizes, starts))
        # a word of n letters has n + 1 boundaries
        places = (starts + np.repeat(np.arange(len(words)), lengths)[starts])[order]
        ends = (lengths + 1).cumsum()
        best, came, chosen = [-np.inf] * int(ends[-1]), [0] * int(ends[-1]), [0] * int(ends[-1])
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            best[end - length - 1] = 0.0
        steps = (places, places + sizes[order], ids[order], scores[order])
        for begin, end, number, score in zip(*(step.tolist() for step in steps), strict=True):
            total = best[begin] + score
            if total > best[end]:
                best[end], came[end], chosen[end] = total, begin, number
        result = []
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            place, first = end - 1, end - 1 - length
            kept: list[int] = []
            while place > first:
                if chosen[place] != self._unknown or not kept or kept[-1] != self._unknown:
                    kept.append(chosen[place])
                place = came[place]
            result.append(kept[::-1])
        return result

    def _pieces_in(self, letters: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, ...]:
        """All pieces that occur in words: where each begins, its length, id and score, [pieces] each.

        letters    the words' letters, uint32 [letters];  ends    where each letter's word ends, int64 [letters]
        """
        places, hashes = np.arange(len(letters)), np.zeros(len(letters), np.uint64)
        lone = np.ones(len(letters), bool)  # letters that are not a piece by themselves
        starts, sizes, ids = [], [], []
        for n, (table, of_table) in enumerate(self._tables, 1):
            inside = places + n <= ends[places]
            places, hashes = places[inside], hashes[inside]
            if not len(places):
                break
            hashes = hashes * _FACTOR + letters[places + n - 1]
            rows = np.minimum(np.searchsorted(table, hashes), len(table) - 1)
            hit = np.flatnonzero(table[rows] == hashes) if len(table) else rows[:0]
            numbers, at = of_table[rows[hit]], places[hit]
            span = np.arange(n)
            same = (self._letters[self._begins[numbers][:, None] + span] == letters[at[:, None] + span]).all(1)
            if n == 1:
                lone[at[same]] = False
            starts.append(at[same])
            ids.append(numbers[same])
            sizes.append(np.full(int(same.sum()), n))
        starts.append(np.flatnonzero(lone))
        ids.append(np.full(len(starts[-1]), self._unknown))
        sizes.append(np.ones(len(starts[-1]), np.int64))
        numbers = np.concatenate(ids)
        scores = np.where(numbers == self._unknown, self._scores.min() - _UNKNOWN_COST, self._scores[numbers])
        return np.concatenate(starts), np.concatenate(sizes), numbers, scores
