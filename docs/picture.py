"""Draw docs/_static/picture.svg, the picture of the first page: python docs/picture.py"""

import os
from pathlib import Path

DOCS = Path(__file__).resolve().parent
os.environ["MATPLOTLIBRC"] = str(DOCS / "matplotlibrc")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import FancyBboxPatch  # noqa: E402

ROWS = (
    ("models", ("BERT", "BERT's heads")),
    ("blocks", ("encoder", "encoder block", "feed-forward")),
    ("attention, positions", ("multi-head", "dot product", "masks", "learned positions")),
    ("layers", ("linear", "embedding", "softmax", "layer norm", "ReLU, GELU", "dropout", "cross-entropy")),
)


def draw(path):
    fig, axes = plt.subplots(figsize=(9.5, 3.6))
    axes.set(xlim=(0, 100), ylim=(-0.2, 4.1))
    axes.axis("off")
    for level, (name, boxes) in enumerate(reversed(ROWS)):
        axes.text(0, level + 0.42, name, va="center", fontsize=10)
        width = 76 / len(boxes)
        for position, label in enumerate(boxes):
            left = 21 + position * width
            axes.add_patch(
                FancyBboxPatch(
                    (left, level + 0.12), width - 1.4, 0.6, boxstyle="round,pad=0,rounding_size=0.8",
                    mutation_aspect=0.08, facecolor=f"C{level}", alpha=0.22, edgecolor="none",
                )
            )  # fmt: skip
            axes.text(left + (width - 1.4) / 2, level + 0.42, label, ha="center", va="center", fontsize=8.5)
    axes.annotate("", (18.5, 3.75), (18.5, 0.1), arrowprops={"arrowstyle": "->", "color": "C0", "lw": 2})
    axes.annotate("", (99, 0.1), (99, 3.75), arrowprops={"arrowstyle": "->", "color": "C1", "lw": 2})
    axes.text(18.5, 3.92, "forward", ha="center", color="C0", fontsize=9)
    axes.text(99, 3.92, "pullback", ha="right", color="C1", fontsize=9)
    fig.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(DOCS / "_static" / "picture.svg")
