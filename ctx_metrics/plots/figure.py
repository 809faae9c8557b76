"""The style of all figures, and how they are saved."""

import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CtxMetricsError, InputError
from ..notices import counted, notice
from ..writing import check_writable, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.typing import RcKeyType
else:  # matplotlib is imported only to draw
    Axes = AxesImage = Colorbar = Figure = RcKeyType = Any

COLUMN = 3.15  # inches: the width of a paper's column
# the colours of Okabe and Ito (2008), which colour-blind readers can tell apart; their yellow is too pale for lines
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
GREY = "#8A8A8A"
LETTER = 0.058  # approximate width of a letter in inches
ENDINGS = (".png", ".pdf", ".svg")
STYLE: "dict[RcKeyType, float]" = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "figure.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # publishers reject the default, type 3
    "text.usetex": False,  # TeX would take parts of names for commands
}


def check() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        said = "" if isinstance(error, ModuleNotFoundError) else f" ({' '.join(str(error).split())})"
        raise CtxMetricsError(f'figures need matplotlib{said}: pip install "ctx-metrics[plot]"') from error


def check_figure(path: str) -> None:
    check()
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"cannot write {path}: a figure's name ends in {', '.join(ENDINGS)}")
    check_writable(path)


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style STYLE, whatever the user's matplotlibrc, within the block or in a function that this decorates."""
    check()
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, sized in inches, outside pyplot and without a window; constrained layout keeps its parts apart."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def label(name: str, longest: int = 0) -> str:
    """Escape a name so that matplotlib shows it literally, shortened in the middle to `longest` letters (0: never).

    Bytes of a file name that are not text, which matplotlib cannot draw, become the replacement character.

    >>> label("metricx_xxl_DA_2019-refA", 15)
    'metricx…19-refA'
    >>> label("caf\\udce9.txt")
    'caf�.txt'
    >>> label("a$b$")
    'a\\\\$b\\\\$'
    """
    name = " ".join(name.split()).encode(errors="surrogateescape").decode(errors="replace")
    if longest and len(name) > longest:
        end = (longest - 1) // 2
        name = name[: longest - 1 - end] + "…" + name[len(name) - end :]
    return name.replace("$", "\\$")


def title(text: str, width: float) -> str:
    """A title, wrapped into lines of at most `width` inches."""
    return "\n".join(map(label, textwrap.wrap(text, int(width / LETTER))))


def draw_rows(
    axes: Axes, values: Sequence[float] | np.ndarray, intervals: np.ndarray | None, ranks: Sequence[int], **dots: Any
) -> None:
    """Draw a row for each of V values, (V,): a dot on the bar of its interval, (V, 2). Every other rank has a shaded band.

    dots    more settings of matplotlib's plot for the dots; a list has one entry per value
    """
    clusters = [rank for rank in dict.fromkeys(ranks) if rank]
    for row, rank in enumerate(ranks):
        if rank and clusters.index(rank) % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, facecolor="0.92", linewidth=0, zorder=0)
        if intervals is not None and not np.isnan(intervals[row]).any():
            axes.plot(intervals[row], [row, row], color=SKY, linewidth=2.5, solid_capstyle="butt", zorder=2)
        own = {name: look[row] if isinstance(look, list) else look for name, look in dots.items()}
        axes.plot(values[row], row, "o", color=BLUE, markersize=3.6, zorder=3, **own)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color="0.85", linewidth=0.5, zorder=1)


def draw_cells(
    axes: Axes,
    cells: np.ndarray,
    *,
    colours: Any,
    ends: tuple[float, float],
    texts: Mapping[tuple[int, int], tuple[str, bool, bool]],
    va: str,
) -> AxesImage:
    """Draw cells (R, C) as a coloured grid without a frame; cells that are NaN are left out.

    ends     the values at the two ends of the colour scale
    texts    by row and column: the text, whether it is light (for a dark cell), and whether it is bold
    """
    image = axes.imshow(np.ma.masked_invalid(cells), cmap=colours, vmin=ends[0], vmax=ends[1], aspect="auto", zorder=1)
    for (row, column), (text, light, bold) in texts.items():
        colour, weight = "white" if light else "black", "bold" if bold else "normal"
        axes.text(column, row, text, ha="center", va=va, fontsize=5.8, color=colour, weight=weight)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def colour_scale(figure: Figure, image: AxesImage, axes: Axes, label: str, **place: Any) -> Colorbar:
    scale = figure.colorbar(image, ax=axes, label=label, **place)
    scale.outline.set_visible(False)
    return scale


def save(figure: Figure, path: str) -> None:
    """Write a figure, whole or not at all, in the format of its path's ending: .png, .pdf or .svg. Creates the folder."""
    with replacing(path) as beside, style(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(beside, format=Path(path).suffix[1:].lower())
    unknown = {str(each.message) for each in caught if "missing from" in str(each.message)}
    if unknown:
        notice(f"{path}: {counted(len(unknown), 'letter', 'letters')} that the figure's font lacks are drawn as boxes")
    for each in caught:
        if str(each.message) not in unknown:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
