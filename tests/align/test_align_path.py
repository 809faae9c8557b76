"""The best path, against all paths of small problems."""

import numpy as np

from ctx_metrics.align.path import NOWHERE, Additions, Path, Prices, best_path


def paths(tokens: int, segments: int):
    """All paths: what each step takes, as (kind, begin, end); an addition stands beside no omission and no other addition."""

    def further(at: int, number: int, last: str):
        if at == tokens and number == segments:
            yield []
        for end in range(at + 1, tokens + 1):
            if number < segments:
                yield from ([("span", at, end), *rest] for rest in further(end, number + 1, "span"))
            if last in ("start", "span"):
                yield from ([("addition", at, end), *rest] for rest in further(end, number, "addition"))
        if number < segments and last != "addition":
            yield from ([("omission", at, at), *rest] for rest in further(at, number + 1, "omission"))

    yield from further(0, 0, "start")


def total(path, values, gains, prices, additions) -> float:
    number, found = 0, 0.0
    for kind, begin, end in path:
        if kind == "addition":
            found += gains[number][begin] + additions.apart[number][begin] + additions.until[end] - additions.price
            continue
        if kind == "span":
            lengths, slopes = prices.lengths
            found += gains[number][begin] + values[number][begin:end].sum()
            found -= slopes[number] * abs(end - begin - lengths[number])
        else:
            found -= prices.omission[number]
        number += 1
    return found


def test_no_path_is_better():
    chance = np.random.default_rng(3)
    kinds = set()

    def some(closed: float, *values: float) -> np.ndarray:
        found = np.where(chance.random(tokens + 1) < closed, NOWHERE, chance.choice(values, tokens + 1))
        found[[0, -1]] = 0
        return found

    for _ in range(100):
        tokens, segments = int(chance.integers(1, 6)), int(chance.integers(1, 4))
        values = list(chance.normal(0, 2, (segments, tokens)))
        gains = [some(0.2, *chance.normal(0, 1, 9)) for _ in range(segments + 1)]
        additions = Additions(0.5, [some(0.3, 0.0, -0.3) for _ in range(segments + 1)], some(0.3, 0.0))
        lengths = chance.integers(1, 5, segments), chance.choice([0.0, 0.4, 1.1], segments)
        prices = Prices(chance.normal(1, 1, segments), lengths)
        path = best_path(values, [(0, tokens)] * segments, gains, prices, additions)
        best = max(paths(tokens, segments), key=lambda each: total(each, values, gains, prices, additions))
        assert path.additions == [(begin, end) for kind, begin, end in best if kind == "addition"]
        assert path.spans == [(b, e) if kind == "span" else None for kind, b, e in best if kind != "addition"]
        kinds |= {kind for kind, *_ in best}
    assert kinds == {"span", "omission", "addition"}


def test_windows_that_hold_the_path_change_nothing():
    chance = np.random.default_rng(4)
    values = chance.normal(0, 0.5, (4, 20)) + 3 * (np.arange(20) // 5 == np.arange(4)[:, None])
    gains = [np.zeros(21)] * 5
    prices = Prices(np.full(4, 5.0), (np.full(4, 5), np.full(4, 0.5)))
    whole = best_path(list(values), [(0, 20)] * 4, gains, prices)
    windows = [(0, 8), (2, 13), (7, 18), (12, 20)]
    of_windows = [values[number, low:high] for number, (low, high) in enumerate(windows)]
    assert best_path(of_windows, windows, gains, prices) == whole
    assert whole == Path([(0, 5), (5, 10), (10, 15), (15, 20)], [])
