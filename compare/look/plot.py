"""Attention maps side by side."""

from matplotlib.figure import Figure

from compare.report.plots.canvas import LIGHT, settings
from compare.report.words import printable

MOST_TICKS = 24


def draw_maps(readers, weights, *, layers=None, head=None):
    """Draw what attends to what, one column a model, one row a layer.

    Parameters
    ----------
    readers : list of Reader
        The models.
    weights : list of (list of numpy.ndarray)
        Of each the weights by layer.
    layers : list of int, optional
        Which layers, of each model; by default the first, the middle one and the last.
    head : int, optional
        Which head; by default the mean over all.

    Returns
    -------
    matplotlib.figure.Figure
        The maps; a row is who looks, a column what is looked at.
    """
    shown = [_layers(len(each), layers) for each in weights]
    n_row = max(map(len, shown))
    with settings():
        figure = Figure(figsize=(5.2 * len(readers), 4.6 * n_row), layout="constrained")
        panels = figure.subplots(n_row, len(readers), squeeze=False)
        for column, (reader, each, own) in enumerate(zip(readers, weights, shown, strict=True)):
            for row in range(n_row):
                axes = panels[row][column]
                if row >= len(own):
                    axes.set_visible(False)
                    continue
                layer = each[own[row]]
                _draw(axes, layer.mean(axis=0) if head is None else layer[head % len(layer)], reader.tokens)
                axes.set_title(f"layer {own[row]}", color=LIGHT.muted, fontsize=9)
            panels[0][column].set_title(f"{printable(reader.title)}\nlayer {own[0]}", color=LIGHT.ink, fontsize=10)
    return figure


def _layers(n_layer, wanted):
    if wanted:
        return sorted({layer % n_layer for layer in wanted})
    return sorted({0, n_layer // 2, n_layer - 1})


def _draw(axes, weights, tokens):
    axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=max(0.2, float(weights.max())), interpolation="nearest")
    every = -(-len(tokens) // MOST_TICKS)
    places = range(0, len(tokens), every)
    labels = [printable(tokens[i]) for i in places]
    axes.set_xticks(places, labels, rotation=90, fontsize=7)
    axes.set_yticks(places, labels, fontsize=7)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
