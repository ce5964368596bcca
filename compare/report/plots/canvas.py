"""What all plots share: colours for light and dark pages, a figure, plain axes."""

from dataclasses import asdict, dataclass

from matplotlib import rc_context
from matplotlib.figure import Figure

from compare.report.words import printable

WIDTH = 9.5  # inches; a page shows this as wide as its column

SETTINGS = {
    "font.size": 9,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text: small, selectable, and the page's colours apply
    "svg.hashsalt": "refimpl",
    "text.parse_math": False,  # names may hold dollar signs
    "axes.unicode_minus": True,
}


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as ``#rrggbb``.

    The hues are those of Okabe and Ito, which people with any colour vision can tell apart; every hue goes
    with a marker of its own besides.

    Attributes
    ----------
    ink, muted, grid : str
        Text and reference lines; what stands back; the grid.
    reference, peer : str
        The two sides.
    limit : str
        The limit, and what is beyond it.
    first, second, third, fourth : str
        Dtypes from precise to coarse, or the lines of a study.
    """

    ink: str
    muted: str
    grid: str
    reference: str
    peer: str
    limit: str
    first: str
    second: str
    third: str
    fourth: str


LIGHT = Palette(
    *("#1f2328", "#59636e", "#d5dbe1", "#0072b2", "#d55e00", "#b3261e"),
    *("#0072b2", "#d55e00", "#00785a", "#a8447f"),
)
DARK = Palette(
    *("#e6edf3", "#9aa4af", "#363d46", "#56b4e9", "#f0a050", "#ff8a80"),
    *("#56b4e9", "#f0a050", "#3fcfa5", "#e3a0c8"),
)
# Colours no theme uses: an SVG drawn with them is turned into one that follows the page's variables.
STAND_IN = Palette(*(f"#fe01{index:02x}" for index in range(10)))

DTYPES = ("float64", "float32", "float16", "bfloat16")


def stylesheet():
    """Write the colours of both themes as CSS variables.

    Returns
    -------
    dict
        ``"light"`` and ``"dark"``: declarations of ``--plot-<role>``.
    """
    themes = {"light": LIGHT, "dark": DARK}
    return {
        theme: " ".join(f"--plot-{role}: {colour};" for role, colour in asdict(palette).items())
        for theme, palette in themes.items()
    }


def sort_dtypes(dtypes):
    """Order dtypes from precise to coarse, unknown ones last.

    Parameters
    ----------
    dtypes : iterable of str
        With repetitions.

    Returns
    -------
    list of str
        Without.
    """
    found = dict.fromkeys(dtypes)
    return sorted(found, key=lambda name: (DTYPES.index(name) if name in DTYPES else len(DTYPES), name))


def dtype_style(dtype, palette):
    """Choose colour and marker of a dtype.

    Parameters
    ----------
    dtype : str
        Its name.
    palette : Palette
        Theme.

    Returns
    -------
    tuple of str
        Colour and marker.
    """
    styles = zip((palette.first, palette.second, palette.third, palette.fourth), "osD^", strict=True)
    return dict(zip(DTYPES, styles, strict=True)).get(dtype, (palette.muted, "X"))


def label_rows(rows):
    """Name rows of a report as shortly as they can be told apart.

    Parameters
    ----------
    rows : list of dict
        Rows of the report.

    Returns
    -------
    list of str
        The case, with its configuration only where the case comes in several.
    """
    configs = {}
    for row in rows:
        configs.setdefault(row["case"], set()).add(row["config"]["name"])
    names = [(row["case"], row["config"]["name"]) for row in rows]
    return [printable(case if len(configs[case]) == 1 else f"{case} · {config}") for case, config in names]


def new_figure(height, columns, palette, *, rows=1, **kwargs):
    """Make a figure of its own, apart from any global state.

    Parameters
    ----------
    height : float
        Inches.
    columns : int
        Panels beside each other.
    palette : Palette
        Theme.
    rows : int, optional
        Panels below each other.
    **kwargs : dict
        For ``Figure.subplots``.

    Returns
    -------
    tuple
        Figure and list of axes, row after row.
    """
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    panels = figure.subplots(rows, columns, squeeze=False, **kwargs).ravel()
    for axes in panels:
        axes.set_facecolor("none")
        axes.tick_params(colors=palette.muted, labelcolor=palette.ink, length=0, pad=4)
        axes.grid(True, color=palette.grid, linewidth=0.6)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set_visible(False)
    return figure, list(panels)


def nothing_measured(text, palette):
    """Say that there is nothing to draw, instead of showing empty axes.

    Parameters
    ----------
    text : str
        What is missing.
    palette : Palette
        Theme.

    Returns
    -------
    Figure
        With that text alone.
    """
    figure = Figure(figsize=(WIDTH, 0.9), facecolor="none")
    figure.text(0.5, 0.5, text, color=palette.muted, ha="center", va="center", fontsize=11)
    return figure


def settings():
    """Apply the settings of all plots for a while.

    Returns
    -------
    context manager
        Restores what was set before.
    """
    return rc_context(SETTINGS)
