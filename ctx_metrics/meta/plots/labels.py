"""Texts beside points, placed where they cover least."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .figure import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 5.5  # points
DOT = 2.0  # points: half of a marker
# gaps between a point and its text, in points, and directions, tried in this order; beyond the first gap a line joins them
GAPS = (2.5, 8, 13, 19, 26)
TURNS = np.arange(24) * np.pi / 12


def place_labels(axes: "Axes", points: np.ndarray, texts: Sequence[str], colours: Sequence[str]) -> None:
    """Write a text beside each point of axes whose place on the page is settled (draw_without_rendering does that).

    Each text in turn takes the place where it covers least of points, of texts before it and of what is outside the axes;
    among equal places the nearest. So the texts that need most room should come first.

    points   (P, 2), in the coordinates of the data
    """
    points_an_inch = 72 / axes.figure.dpi
    dots = axes.transData.transform(points) * points_an_inch
    frame = np.asarray(axes.get_window_extent().extents) * points_an_inch
    taken = [np.array([x - DOT, y - DOT, x + DOT, y + DOT]) for x, y in dots]
    for point, dot, text, colour in zip(points, dots, texts, colours, strict=True):
        half = np.array([0.3 * SIZE * len(text) + 1, 0.42 * SIZE + 0.3])  # with some air between texts
        places = []
        for gap in GAPS:
            for x, y in zip(np.cos(TURNS), np.sin(TURNS), strict=True):
                offset = np.array([x * (gap + half[0]), y * (gap + half[1])])
                box = np.concatenate([dot + offset - half, dot + offset + half])
                places.append((_covered(box, taken, frame) + 0.3 * gap, gap, offset, box))
        _, gap, offset, box = min(places, key=lambda place: place[0])
        taken.append(box)
        joined = {"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 1}
        axes.annotate(
            text,
            point,
            xytext=tuple(offset),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=colour,
            arrowprops=joined if gap > GAPS[0] else None,
        ).set_in_layout(False)  # or the axes would shrink, and points move away from their texts


def _covered(box: np.ndarray, taken: Sequence[np.ndarray], frame: np.ndarray) -> float:
    """The area of `taken` boxes under a box, and twice what of it lies outside the frame, in square points."""
    others = np.array(taken)
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    inside = np.clip(np.minimum(box[2:], frame[2:]) - np.maximum(box[:2], frame[:2]), 0, None).prod()
    return float(np.clip(sides, 0, None).prod(axis=1).sum() + 2 * ((box[2:] - box[:2]).prod() - inside))
