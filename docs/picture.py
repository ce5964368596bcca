"""Draw docs/_static/picture.svg, the picture of the first page: python docs/picture.py"""

import os
from pathlib import Path

DOCS = Path(__file__).resolve().parent
os.environ["MATPLOTLIBRC"] = str(DOCS / "matplotlibrc")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import FancyBboxPatch  # noqa: E402

ROWS = (
    ("to use it", ("generation", "training", "checkpoints", "costs")),
    ("models", ("BERT", "GPT", "Llama", "Transformer-XL", "encoder–decoder", "T5", "Longformer", "CLIP", "Flamingo")),
    ("blocks", ("feed-forward", "encoder block", "decoder block", "causal block", "mixture of experts")),
    ("attention", ("masks", "dot product", "multi-head", "grouped queries", "relative", "in a band")),
    ("positions", ("learned", "sinusoidal", "rotary", "ALiBi", "bucketed")),
    ("layers", ("linear", "embedding", "softmax", "norms", "activations", "dropout", "cross-entropy")),
)

# Boxes are as wide as their words need, of what there is between the arrows.
LEFT, RIGHT, GAP, PADDING = 16, 97.5, 1.2, 5


def draw(path):
    fig, axes = plt.subplots(figsize=(9.5, 4.6))
    axes.set(xlim=(0, 100), ylim=(-0.1, 6.0))
    axes.axis("off")
    for level, (name, boxes) in enumerate(reversed(ROWS)):
        axes.text(0, level + 0.42, name, va="center", fontsize=10)
        left, share = LEFT, (RIGHT - LEFT) / sum(len(label) + PADDING for label in boxes)
        for label in boxes:
            width = share * (len(label) + PADDING)
            axes.add_patch(
                FancyBboxPatch(
                    (left, level + 0.12), width - GAP, 0.6, boxstyle="round,pad=0,rounding_size=0.8",
                    mutation_aspect=0.08, facecolor=f"C{level % 5}", alpha=0.22, edgecolor="none",
                )
            )  # fmt: skip
            axes.text(left + (width - GAP) / 2, level + 0.42, label, ha="center", va="center", fontsize=8.5)
            left += width
    axes.annotate("", (13.5, 4.72), (13.5, 0.12), arrowprops={"arrowstyle": "->", "color": "C0", "lw": 2})
    axes.annotate("", (99, 0.12), (99, 4.72), arrowprops={"arrowstyle": "->", "color": "C1", "lw": 2})
    axes.text(13.5, 4.86, "forward", ha="center", color="C0", fontsize=9)
    axes.text(100.5, 4.86, "pullback", ha="right", color="C1", fontsize=9)
    fig.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(DOCS / "_static" / "picture.svg")
