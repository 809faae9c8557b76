"""A small made-up task for the tests of training: outputs with words changed, judged by how many are left."""

import random
from pathlib import Path

WORDS = "the a cat dog sat ran on under mat tree and old red fast home rain river city light slow bird song".split()


def write_judgements(path: Path, segments: int, seed: int, raters: bool = True) -> Path:
    """Two systems' outputs of each segment, as a TSV; returns its path."""
    draw = random.Random(seed)
    lines = ["mt\tref\tsrc\tscore\tsystem\tseg" + "\trater" * raters]
    for segment in range(segments):
        reference = [draw.choice(WORDS) for _ in range(draw.randint(3, 10))]
        for system in "AB":
            output = [word if draw.random() < draw.choice((0.9, 0.5)) else draw.choice(WORDS) for word in reference]
            same = sum(a == b for a, b in zip(output, reference)) / len(reference)
            cells = [
                " ".join(output),
                " ".join(reference),
                " ".join(reversed(reference)),
                f"{100 * same + draw.gauss(0, 3):.2f}",
                system,
                str(segment),
            ]
            lines.append("\t".join([*cells, *[f"r{segment % 2}"] * raters]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
