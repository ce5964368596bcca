"""The command ``generate``: its options, and what they say of themselves."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from refimpl.commands.options import OF_METHOD
from refimpl.commands.where import WHERE, backend_named

Method = StrEnum("Method", [(name, name) for name in OF_METHOD])
EXAMPLES = """\b
Examples:
  python -m refimpl generate FOLDER --prompt "To be" --max-new-tokens 40
  python -m refimpl generate FOLDER --prompt "To be" --top-p 0.9 --temperature 0.8 --seed 1
  python -m refimpl generate FOLDER --prompt "A sentence to translate." --beams 5 --return 2 > texts
  python -m refimpl generate FOLDER --prompt "To be" --draft SMALLER_FOLDER"""


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
          backend_name=backend_named(backend), out=sys.stdout)  # fmt: skip
