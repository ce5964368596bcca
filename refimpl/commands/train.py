"""Train a small GPT-2, show how it goes, and keep what it has become."""

import csv
import math
import sys
import tempfile
import time

import numpy as np

from refimpl.arrays import asarray
from refimpl.checkpoints.errors import CheckpointError, refusal
from refimpl.checkpoints.files.config import write_config
from refimpl.checkpoints.folder import Checkpoint, save_folder
from refimpl.checkpoints.generation_settings import GENERATION
from refimpl.checkpoints.tokenizer import END, TOKENIZER
from refimpl.commands.corpus import read_corpus
from refimpl.commands.generate import run as write
from refimpl.commands.options import Interrupted
from refimpl.commands.small_gpt import Plan, held_out_loss, split, training
from refimpl.commands.vocabulary import tokenizer_for
from refimpl.models.gpt.config import GptConfig

PLOT = "loss.png"


def run(output, text, *, kind, vocab_size, sizes, settings, n_sample, backend_name, out):
    """Train, save, plot, and write a sample.

    Parameters
    ----------
    output : pathlib.Path
        Where everything goes.
    text : pathlib.Path or None
        What is trained on; by default Shakespeare.
    kind : {"char", "bpe", "gpt2"}
        What a token is.
    vocab_size : int
        Of ``"bpe"``.
    sizes : dict of (str, int)
        ``layers``, ``heads``, ``width``.
    settings : dict of (str, object)
        ``steps``, ``batch``, ``context``, ``learning_rate``, ``seed``, ``dtype``.
    n_sample : int
        How many tokens are written at the end.
    backend_name : str
        Where it is computed.
    out : file
        Where the sample goes; the report goes to the standard error.

    Raises
    ------
    Interrupted
        After Ctrl-C, when the steps that were taken are saved.
    """
    check_writable(output)
    corpus = read_corpus(text)
    tokenizer = tokenizer_for(corpus, kind, vocab_size)
    plan = plan_of(tokenizer, sizes, settings)
    trained_on, held_out = split(asarray(np.array(tokenizer.encode(corpus).ids), backend_name=backend_name))
    print(f"{len(corpus)} characters, {trained_on.shape[0]} tokens to train on, {held_out.shape[0]} held out, "
          f"{plan.config.vocab_size} in the vocabulary", file=sys.stderr)  # fmt: skip
    start = time.perf_counter()
    losses, params = _watched(plan, trained_on)
    seconds = time.perf_counter() - start
    is_interrupted = len(losses) < plan.n_step
    try:
        final = held_out_loss(plan, params, held_out)
    except KeyboardInterrupt:
        final, is_interrupted = math.nan, True
    print(f"{len(losses)} steps in {seconds:.0f} s; loss {losses[0]:.4f} at first, {_smooth(losses)[-1]:.4f} at last, "
          f"{final:.4f} on text that was held out (nats a token; guessing: {math.log(plan.config.vocab_size):.4f})",
          file=sys.stderr)  # fmt: skip
    save(output, plan, params, tokenizer, losses, final)
    if is_interrupted:
        raise Interrupted(f"interrupted after step {len(losses)} of {plan.n_step}; {output} holds what was reached")
    print(output, file=sys.stderr)
    if n_sample and plan.n_seq > 1:
        write(output, [_opening(corpus, tokenizer, plan.n_seq)], method=None, given={"seed": plan.seed},
              max_new_tokens=n_sample, stop_strings=[], rules={}, use_cache=True, dtype=None,
              backend_name=backend_name, out=out)  # fmt: skip


def check_writable(folder):
    """Find out before the work is done, not after it, that its result cannot be kept.

    Parameters
    ----------
    folder : pathlib.Path
        Where it shall go; nothing is made there yet.

    Raises
    ------
    CheckpointError
        If the folder, or where it is not there the nearest one above it, cannot be written.
    """
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise refusal(folder, "a folder that can be written", error.strerror or str(error)) from None


def plan_of(tokenizer, sizes, settings):
    """Say how a model is trained.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer
        Its tokens.
    sizes, settings : dict
        As for `run`.

    Returns
    -------
    Plan
        The plan.
    """
    end = tokenizer.token_to_id(END)
    config = GptConfig(
        vocab_size=tokenizer.get_vocab_size(), n_position=settings["context"], d_model=sizes["width"],
        n_head=sizes["heads"], n_layer=sizes["layers"], d_ff=4 * sizes["width"], bos_id=end, eos_id=end,
    )  # fmt: skip
    return Plan(config, settings["steps"], settings["batch"], settings["context"], settings["learning_rate"],
                seed=settings["seed"], dtype=settings["dtype"])  # fmt: skip


def save(output, plan, params, tokenizer, losses, final):
    """Save the checkpoint, the tokenizer, the plan, the losses and their plot: all of them, or nothing.

    Parameters
    ----------
    output : pathlib.Path
        The folder.
    plan : Plan
        How it was trained.
    params : dict of (str, array)
        What came of it, after as many steps as there are losses.
    tokenizer : tokenizers.Tokenizer
        Its tokens.
    losses : list of float
        Of every step.
    final : float
        On text that was held out.

    Raises
    ------
    CheckpointError
        If the folder cannot be written.
    """
    host = {key: x if isinstance(x, np.ndarray) else x.get() for key, x in params.items()}
    told = {key: value for key, value in vars(plan).items() if key != "config"}
    told |= {"steps_taken": len(losses), "held_out_loss": final if math.isfinite(final) else None}
    save_folder(output, Checkpoint("gpt2", host, plan.config), beside={
        TOKENIZER: lambda path: tokenizer.save(str(path)),
        GENERATION: lambda path: write_config(path, _habits(plan.config)),
        "training.json": lambda path: write_config(path, told),
        "losses.csv": lambda path: _table(path, losses),
        PLOT: lambda path: plot(path, losses, final, math.log(plan.config.vocab_size)),
    })  # fmt: skip


def _habits(config):
    """Say how such a model writes where nobody says otherwise."""
    ends = {} if config.eos_id is None else {"bos_token_id": config.bos_id, "eos_token_id": config.eos_id}
    return {"do_sample": True, "temperature": 0.8, "top_k": 0, **ends}


def _table(path, losses):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["step", "loss"])
        table.writerows(enumerate(losses, 1))


def plot(path, losses, final, guessing):
    """Draw the losses.

    Parameters
    ----------
    path : pathlib.Path
        Where the picture goes.
    losses : list of float
        Of every step.
    final : float
        On text that was held out.
    guessing : float
        Of all tokens being alike.

    Returns
    -------
    pathlib.Path
        The picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    steps = range(1, len(losses) + 1)
    axes.plot(steps, losses, color="#b8c4d6", linewidth=0.8, label="batches")
    axes.plot(steps, _smooth(losses), color="#1f5fa8", label="their running mean")
    axes.axhline(final, color="#c0392b", linestyle="--", linewidth=1.0, label="text that was held out")
    axes.axhline(guessing, color="#7f8c8d", linestyle=":", linewidth=1.0, label="guessing")
    axes.set(xlabel="step", ylabel="loss, nats a token")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path


def _watched(plan, token_ids):
    """Train under a progress bar, until the last step or an interrupt."""
    from tqdm import tqdm

    losses, done = [], None
    # A loss that leaves the numbers is one sentence, not warnings of every operation.
    with tqdm(total=plan.n_step, unit="step", disable=None) as bar, np.errstate(all="ignore"):
        try:
            for progress in training(plan, token_ids):
                if not math.isfinite(progress.loss):
                    raise CheckpointError(f"the loss must be finite, got {progress.loss} at step {progress.step}; "
                                          "a smaller --learning-rate may help")  # fmt: skip
                losses.append(progress.loss)
                done = progress
                bar.set_postfix_str(f"loss {_smooth(losses[-100:])[-1]:.3f}", refresh=False)
                bar.update()
        except KeyboardInterrupt:
            if done is None:
                raise
    return losses[: done.step], done.params


def _opening(corpus, tokenizer, n_position):
    """Take the first line; or a character, if the line leaves the model no position to write at."""
    line = corpus[: corpus.find("\n") + 1]
    return line if line and len(tokenizer.encode(line).ids) < n_position else corpus[:1]


def _smooth(losses):
    smooth, kept = [], 0.95
    for loss in losses:
        smooth.append(kept * (smooth[-1] if smooth else 0.0) + (1.0 - kept) * loss)
    return [mean / (1.0 - kept**i) for i, mean in enumerate(smooth, 1)]
