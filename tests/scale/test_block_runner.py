"""The runner of blocks: what each part gets, what is kept, and where errors and notices say they are."""

from dataclasses import dataclass

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.notices import Notice, collected, notice
from ctx_metrics.scale.blocks import Block, BlockRun, Part
from ctx_metrics.scale.kept import ResultCache


@dataclass
class Kept:
    """A length, as it is kept."""

    length: int
    said: list[Notice]

    @classmethod
    def of(cls, result, said):
        return cls(result, said)

    def result(self):
        return self.length


def lengths(texts):
    """The texts' lengths; gives notice of empty ones, and refuses a question mark."""
    for segment, text in enumerate(texts):
        if text == "?":
            raise InputError("a question mark", about="texts", segment=segment, unit="line")
        if not text:
            notice(Notice.at([segment], "text is empty", "texts are empty"))
    return list(map(len, texts))


def run(texts, cache=None, size=2, **options):
    """What each text got, and the lines of the notices."""
    got = {}

    def block(start):
        own = texts[start : start + size]
        parts = [
            Part(1, lambda length, k=start + k: got.__setitem__(k, length), lambda text=text: f"key-{text or 'none'}")
            for k, text in enumerate(own)
        ]
        return Block(parts, lambda left: ([own[k] for k in left],), before=start, **options)

    with collected() as said:
        BlockRun("lengths", "text", len(texts), cache=cache, form=Kept, quiet=True).complete(
            lengths, map(block, range(0, len(texts), size))
        )
    return [got[k] for k in range(len(texts))], [str(each) for each in said]


def test_every_part_gets_its_result_and_notices_their_place():
    assert run(["a", "bc", "", "d"]) == ([1, 2, 0, 1], ["1 text is empty (segment 3)"])


def test_kept_parts_are_not_computed_again(tmp_path):
    cache = ResultCache(str(tmp_path / "kept"))
    run(["a", "bc"], cache)
    assert run(["bc", "def", "a"], cache) == (
        [2, 3, 1],
        ["lengths: 2 of 3 texts were read from an earlier run (cache)"],
    )


def test_an_interrupt_says_what_is_kept_and_the_next_run_goes_on(tmp_path, monkeypatch):
    texts, put = ["a", "bc", "def", "g"], ResultCache.put

    def interrupted(self, name, *what):
        put(self, name, *what)
        if name == "key-def":
            raise KeyboardInterrupt

    monkeypatch.setattr(ResultCache, "put", interrupted)
    said = f"^lengths: 2 of 4 texts are kept in {tmp_path}; run the same command again to continue$"
    with pytest.raises(KeyboardInterrupt, match=said):
        run(texts, ResultCache(str(tmp_path)))
    monkeypatch.setattr(ResultCache, "put", put)
    assert run(texts, ResultCache(str(tmp_path))) == (
        [1, 2, 3, 1],
        ["lengths: 3 of 4 texts were read from an earlier run (cache)"],
    )


def test_an_interrupt_of_a_run_that_keeps_nothing():
    class Interrupted:
        def map(self, function, items):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="^$"):
        BlockRun("lengths", "text", 1, Interrupted(), quiet=True).complete(lengths, [])


@pytest.mark.parametrize(
    ("options", "place"), [({}, "texts, line 3"), ({"table": "t.tsv", "first": 7}, "t.tsv: texts, row 8")]
)
def test_errors_name_the_line_of_the_corpus_or_the_row_of_the_table(options, place):
    with pytest.raises(InputError, match=f"^{place}: a question mark$"):
        run(["a", "b", "?"], **options)
