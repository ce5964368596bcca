"""Compare one folder: the work of a child process, from paths to rows of a report."""

import re
import shlex
from itertools import count
from pathlib import Path

from compare.folder.elsewhere import PEER, Elsewhere, check_elsewhere, is_elsewhere
from compare.folder.inputs import draw_inputs, random_length, text_length
from compare.folder.layers import ALONE, IN_MODEL, N_RUN, compare_layers
from compare.folder.memory import check_memory
from compare.folder.tensors import differing_settings, differing_tensors
from compare.folder.theirs import load_theirs
from compare.folder.tokens import read_text
from refimpl.checkpoints import CheckpointError, family_named, load_folder
from refimpl.checkpoints.errors import naming

SECTION = "checkpoints"


def compare_folder(folder, against, dtypes, text, n_token, seed, max_bytes, memory_bytes=None, told=None):
    """Compare our text on a folder with `transformers` on the same folder, or on another one.

    Parameters
    ----------
    folder : str
        The checkpoint; what our text makes of it is taken for true.
    against : str or None
        Another checkpoint of the family, which `transformers` loads instead.
    dtypes : list of str
        Of "float64" and "float32".
    text : str or None
        What the models read, where the folder has a tokenizer.json; by default random tokens.
    n_token : int or None
        How many random tokens; by default 12, or as many as the model has positions.
    seed : int
        Of the random tokens.
    max_bytes : int
        Most bytes that the weights may need.
    memory_bytes : int, optional
        Most bytes that the work may need.
    told : multiprocessing.connection.Connection, optional
        Is sent the number of stages that are through and of those that there are, to tell how far the work is.

    Returns
    -------
    dict
        ``"rows"`` of the report, ``"notes"`` on what the models read, and ``"differences"`` between the two
        checkpoints; or ``"refused"``, one sentence.
    """
    try:
        checkpoint, groups, class_name = _load(folder, max_bytes)
        other = _load(against, max_bytes) if against else (checkpoint, groups, class_name)
        if (other[0].model_type, other[1]) != (checkpoint.model_type, groups):
            raise CheckpointError(f"both folders must hold the same kind of model, got {class_name} and {other[2]}")
        if against:
            _check_sizes(folder, checkpoint, against, other[0])
        token_ids = read_text(folder, text, checkpoint.config) if text else None
        with naming(folder):
            n_batch, n_seq, note = _lengths(checkpoint, groups, token_ids, n_token)
            n_stage = check_memory(checkpoint, groups, n_batch, n_seq, memory_bytes)
    except CheckpointError as error:
        return {"refused": str(error)}
    numbers = count(1)

    def step():
        if told is not None:
            told.send((next(numbers), N_RUN * n_stage * len(dtypes)))

    cut = None if token_ids is None else token_ids[:, :n_seq]
    ids = draw_inputs(
        checkpoint.model_type, checkpoint.config, n_batch=n_batch, n_seq=n_seq, seed=seed, token_ids=cut
    )
    notes = [note] if note else []
    words = [folder, *_given(against=against, text=text, tokens=n_token, seed=seed or None)]
    load = Elsewhere if is_elsewhere(checkpoint.model_type) else load_theirs
    rows = []
    for dtype in dtypes:
        layers = compare_layers(checkpoint, groups, load(against or folder, other[2], dtype), ids, dtype, note=step)
        rows += _rows(folder, words, checkpoint, class_name, ids, notes, layers)
    differences = []
    if against:
        differences = differing_settings(checkpoint.config, other[0].config)
        n_head = getattr(checkpoint.config, "n_head", 1)
        differences += differing_tensors(checkpoint.params, other[0].params, n_head=n_head)
    return {"rows": rows, "notes": notes, "differences": differences}


def _lengths(checkpoint, groups, token_ids, n_token):
    """Find how many texts the models read, of how many tokens, and what there is to say of it."""
    pad_id = getattr(checkpoint.config, "pad_id", 0)
    if token_ids is not None:
        n_seq, note = text_length(checkpoint, token_ids.shape[1])
        if "classifier" in groups and "gpt" in checkpoint.model_type and token_ids[0, n_seq - 1] == pad_id:
            raise CheckpointError(f"expected a text that ends in no padding, which is passed over, got {pad_id}")
        return 1, n_seq, note
    # Without a token for padding, a GPT of `transformers` classifies one text at a time.
    return 1 if "classifier" in groups and pad_id is None else 2, *random_length(checkpoint, n_token)


def _load(folder, max_bytes):
    checkpoint = load_folder(folder, max_bytes=max_bytes)
    if is_elsewhere(checkpoint.model_type):
        check_elsewhere(folder)
    names = family_named(checkpoint.model_type).names
    said = checkpoint.settings.get("architectures") or ()
    groups, class_name = names.architecture(checkpoint.params, checkpoint.config, said)
    if class_name is None:
        raise CheckpointError(f"{folder}: expected the parts of one class of transformers, got {', '.join(groups)}")
    return checkpoint, groups, class_name


def _check_sizes(folder, checkpoint, against, other):
    """Refuse what has no layers to set side by side, or other tokens to read."""
    ours, theirs = checkpoint.params, other.params
    same = all(ours[key].shape == theirs[key].shape for key in ours.keys() & theirs.keys())
    if same and _layers(ours) == _layers(theirs):
        return
    differ = differing_settings(checkpoint.config, other.config)
    raise CheckpointError(f"{against}: expected a model of the sizes of {folder}: {'; '.join(differ)}")


def _layers(params):
    return {found[0] for key in params if (found := re.match(r".*?layers\.\d+", key))}


def _given(**options):
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]


def _rows(folder, words, checkpoint, class_name, ids, notes, layers):
    repeat = ["refcompare", "checkpoint", *map(str, [*words, "--dtype", layers.dtype])]
    first = layers.first()
    rows = []
    for stage, peer in layers.peer.items():
        verdict, reason = _verdict(stage, peer, layers.reference[stage], first)
        rows.append(
            {
                "case": Path(folder).resolve().name,
                "section": SECTION,
                "title": class_name,
                "config": {
                    "name": stage,
                    "sizes": {key: list(x.shape) for key, x in ids.items()},
                    "settings": {"config": repr(checkpoint.config), "notes": notes},
                },
                "dtype": layers.dtype, "backend": "numpy", "peer": _peer(checkpoint),
                "verdict": verdict, "reason": reason, "repeat": shlex.join(repeat),
                "outputs": {"reference": layers.reference[stage], "peer": peer},
                "gradients": {"reference": {}, "peer": {}},
                "memory": None, "throughput": None,
                "seconds": {"total": layers.seconds / len(layers.peer), "measured": layers.seconds / len(layers.peer)},
            }
        )  # fmt: skip
    rows[0]["study"] = _study(layers, notes)
    return rows


def _peer(checkpoint):
    return PEER if is_elsewhere(checkpoint.model_type) else "transformers"


def _verdict(stage, peer, reference, first):
    for which in (ALONE, IN_MODEL):
        if not reference[which]["passed"]:
            return "FAIL", f"our own {stage} ({which}): {reference[which]['reason']}"
    if not peer[ALONE]["passed"]:
        return "FAIL", f"{stage} adds an error of its own, on the true input: {peer[ALONE]['reason']}"
    if not peer[IN_MODEL]["passed"]:
        return "FAIL", f"inherited from {first}: on the true input {stage} passes"
    return "PASS", ""


def _study(layers, notes):
    stages = list(layers.peer)
    lines = {
        which: [min(float(figures[which]["sigma_max"]), 1e15) for figures in layers.peer.values()]
        for which in (IN_MODEL, ALONE)
    }
    panel = {
        "title": layers.dtype, "x_label": "stage", "y_label": "largest error, σ", "x": [*range(len(stages))],
        "lines": lines, "x_scale": "linear", "y_scale": "log",
    }  # fmt: skip
    numbered = ", ".join(f"{i} {stage}" for i, stage in enumerate(stages))
    said = " ".join([finding(layers.dtype, layers.peer), *map(sentence, notes)])
    text = f"Stages: {numbered}. Alone: each stage on the true input. {said}"
    return {"title": f"Layer by layer, {layers.dtype}", "text": text, "panels": [panel]}


def sentence(note):
    """Make a sentence of a note.

    Parameters
    ----------
    note : str
        A clause.

    Returns
    -------
    str
        The same with a capital letter and a full stop.
    """
    return f"{note[0].upper()}{note[1:]}."


def finding(dtype, peer):
    """Say in one sentence which stage differs first.

    Parameters
    ----------
    dtype : str
        The dtype.
    peer : dict of (str, dict)
        By stage the figures of `transformers`.

    Returns
    -------
    str
        The sentence.
    """
    added = [stage for stage, figures in peer.items() if not figures[ALONE]["passed"]]
    inherited = [stage for stage, both in peer.items() if both[ALONE]["passed"] and not both[IN_MODEL]["passed"]]
    if not added and not inherited:
        return f"In {dtype} every stage is equal to rounding."
    if not added:
        return f"In {dtype} no stage alone differs, but {inherited[0]} does in the model."
    more = f", {', '.join(added[1:])} too" if added[1:] else ""
    passed_on = f"; {len(inherited)} stages only inherit theirs" if inherited else ""
    return f"In {dtype} {added[0]} is the first that differs, by an error of its own{more}{passed_on}."
