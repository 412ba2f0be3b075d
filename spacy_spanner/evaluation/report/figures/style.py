"""The style of all figures, and how to save and embed them."""

import io
import re
from functools import wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Sequence,
    Tuple,
    TypeVar,
    cast,
)

import numpy as np

from ....errors import Errors
from ....errors.install import install_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE, PAPER = "#1b2530", "#5a6773", "#dfe5ea", "#ffffff"
BLUE, ORANGE, GREEN, RED = "#2f6db3", "#b85c12", "#27804f", "#b3333b"

# In a page, colours are variables of its theme.
THEME = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    PAPER: "var(--card)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    RED: "var(--red)",
}
FONT = "DejaVu Sans"  # comes with matplotlib
SETTINGS: Any = {
    "font.family": [FONT],
    "font.size": 10,
    "svg.fonttype": "none",  # text instead of outlines
    "svg.hashsalt": "spacy-spanner",  # reproducible ids
    "text.parse_math": False,  # names may contain dollar signs
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.unicode_minus": False,
}
DOTS_PER_INCH = 200
# Panels that fit side by side.
MAX_COLUMNS = 3


Draw = TypeVar("Draw", bound=Callable[..., Any])


def require_matplotlib() -> None:
    """RAISES (ValueError): SP074 if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        message = Errors.SP074.format(command=install_command("plots"))
        raise ValueError(message) from error


def can_draw() -> bool:
    """RETURNS (bool): whether matplotlib is installed."""
    try:
        require_matplotlib()
    except ValueError:
        return False
    return True


def styled(draw: Draw) -> Draw:
    """Make a function draw with the common settings. RETURNS (Draw): the function."""

    @wraps(draw)
    def draw_styled(*args: Any, **kwargs: Any) -> Any:
        require_matplotlib()
        import matplotlib

        with matplotlib.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return cast(Draw, draw_styled)


def new_figure(
    width: float = 4.4,
    height: float = 3.2,
    *,
    heights: Sequence[float] = (1,),
    columns: int = 1,
) -> Tuple["Figure", Any]:
    """Make a figure with a grid of axes.

    width, height (float): inches. Up to a width of 4.4, text is readable on a phone.
    heights (Sequence[float]): relative heights of the rows.
    columns (int): number of columns.
    RETURNS (Tuple[Figure, Any]): the figure, and its axes or array of axes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(len(heights), columns, height_ratios=list(heights))


def panel_grid(
    n_panels: int, *, height: float, margin: float
) -> Tuple["Figure", List["Axes"]]:
    """Make a figure with a grid of small panels.

    height, margin (float): inches of each row, and of the figure besides.
    RETURNS (Tuple[Figure, List[Axes]]): the figure and its panels, row by row.
    """
    n_rows = -(-n_panels // MAX_COLUMNS)
    figure, axes = new_figure(
        height=margin + height * n_rows,
        heights=[1.0] * n_rows,
        columns=min(MAX_COLUMNS, n_panels),
    )
    panels = list(np.ravel(axes))
    for unused in panels[n_panels:]:
        unused.set_visible(False)
    return figure, panels[:n_panels]


def percent_axis(axes: "Axes", which: str = "y", limit: float = 1.0) -> None:
    """Scale an axis from 0 to `limit`, with labels in percent."""
    from matplotlib.ticker import MultipleLocator, PercentFormatter

    axis = axes.yaxis if which == "y" else axes.xaxis
    axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=""))
    axis.set_major_locator(MultipleLocator(0.2))
    (axes.set_ylim if which == "y" else axes.set_xlim)(0, limit)


@styled
def to_svg(figure: "Figure") -> str:
    """RETURNS (str): the figure as reproducible SVG."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue().replace(f"'{FONT}'", f"'{FONT}', sans-serif")


@styled
def save_figure(figure: "Figure", folder: Path, name: str) -> str:
    """Write `name.png` and `name.svg`.

    RETURNS (str): the SVG.
    """
    folder.mkdir(parents=True, exist_ok=True)
    svg = to_svg(figure)
    (folder / f"{name}.svg").write_text(svg, encoding="utf8")
    figure.savefig(folder / f"{name}.png", dpi=DOTS_PER_INCH)
    return svg


def histogram_axis(axes: "Axes", label: str) -> None:
    """Format the lower axes of a figure as a histogram."""
    axes.grid(False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label)


def draw_cell(
    axes: "Axes", cell: Tuple[int, int], text: str, share: float, color: str
) -> None:
    """Draw a cell of a grid.

    cell (Tuple[int, int]): row and column.
    share (float): darkness from 0 to 1.
    """
    from matplotlib.patches import Rectangle

    row, column = cell
    corner = (column - 0.5, row - 0.5)
    style: Dict[str, Any] = {"edgecolor": PAPER, "linewidth": 1.5, "facecolor": color}
    shade = Rectangle(corner, 1, 1, alpha=0.06 + 0.5 * min(share, 1.0), **style)
    axes.add_patch(shade)
    axes.text(column, row, text, ha="center", va="center", fontsize=9)


def frame_grid(
    axes: "Axes", rows: List[str], columns: List[str], bottom: str, left: str
) -> None:
    """Set the limits and names of a grid.

    rows, columns (List[str]): names of rows and columns.
    bottom, left (str): titles of the axes.
    """
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    turned = max(map(len, columns)) > 5
    options: Dict[str, Any] = {"rotation": 40, "ha": "right"} if turned else {}
    axes.set_xticks(range(len(columns)), columns, fontsize=9, **options)
    axes.set_yticks(range(len(rows)), rows, fontsize=9)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(bottom)
    axes.set_ylabel(left)


def inline_svg(svg: str, name: str, description: str) -> str:
    """Prepare an SVG file for a page: colours of the theme and unique ids.

    svg (str): see `to_svg`.
    name (str): a name that is unique in the page.
    description (str): alternative text for screen readers.
    RETURNS (str): the SVG element.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    for color, variable in THEME.items():
        svg = re.sub(rf"(?i){color}\b", variable, svg)
    svg = re.sub(rf"'{FONT}', sans-serif", "var(--font)", svg)
    width = re.search(r'width="([\d.]+)pt"', svg)
    size = f' style="width: {float(width[1]) * 4 / 3:.0f}px"' if width else ""
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
    label = description.replace("&", "&amp;").replace('"', "&quot;")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"{size}', 1)
