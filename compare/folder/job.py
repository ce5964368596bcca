"""Compare one folder: the work of a child process, from paths to rows of a report."""

import re
import shlex
from pathlib import Path

from compare.folder.layers import ALONE, IN_MODEL, compare_layers, draw_inputs, positions
from compare.folder.ours import KINDS, reads_two
from compare.folder.tensors import differing_settings, differing_tensors
from compare.folder.theirs import load_theirs
from compare.folder.tokens import read_text
from refimpl.checkpoints import CheckpointError, family_named, load_folder

SECTION = "checkpoints"


def compare_folder(folder, against, dtypes, text, n_token, seed, max_bytes):
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

    Returns
    -------
    dict
        ``"rows"`` of the report, and ``"differences"`` between the two checkpoints; or ``"refused"``, one sentence.
    """
    try:
        checkpoint, names, groups, class_name = _load(folder, max_bytes)
        other = _load(against, max_bytes) if against else (checkpoint, names, groups, class_name)
        if (other[0].model_type, other[2]) != (checkpoint.model_type, groups):
            raise CheckpointError(f"both folders must hold the same kind of model, got {class_name} and {other[3]}")
        if against:
            _check_sizes(folder, checkpoint, against, other[0])
        _check_length(folder, checkpoint, n_token)
        ids = read_text(folder, text, checkpoint.config) if text else None
    except CheckpointError as error:
        return {"refused": str(error)}
    drawn = draw_inputs(checkpoint.model_type, checkpoint.config, n_seq=n_token or 12, seed=seed)
    ids = ids or drawn
    if text and (len(ids["token_ids"][0]) % len(drawn["token_ids"][0]) if checkpoint.model_type == "longformer" else 0):
        return {"refused": f"{folder}: expected a text of whole windows, got {len(ids['token_ids'][0])} tokens"}
    if reads_two(checkpoint.model_type) and "target_ids" not in ids:
        ids["target_ids"] = ids["token_ids"]
    rows = []
    for dtype in dtypes:
        model = load_theirs(against or folder, other[3], dtype)
        layers = compare_layers(checkpoint, groups, model, ids, dtype)
        rows += _rows(folder, against, checkpoint, class_name, ids, layers)
    differences = []
    if against:
        differences = differing_settings(checkpoint.config, other[0].config)
        n_head = getattr(checkpoint.config, "n_head", 1)
        differences += differing_tensors(checkpoint.params, other[0].params, n_head=n_head)
    return {"rows": rows, "differences": differences}


def _load(folder, max_bytes):
    checkpoint = load_folder(folder, max_bytes=max_bytes)
    if checkpoint.model_type not in KINDS:
        known = ", ".join(KINDS)
        raise CheckpointError(f"{folder}: expected a model of {known}, got {checkpoint.model_type}: not compared yet")
    names = family_named(checkpoint.model_type).names
    said = checkpoint.settings.get("architectures") or ()
    groups, class_name = names.architecture(checkpoint.params, checkpoint.config, said)
    if class_name is None:
        raise CheckpointError(f"{folder}: expected the parts of one class of transformers, got {', '.join(groups)}")
    return checkpoint, names, groups, class_name


def _check_length(folder, checkpoint, n_token):
    n_position, longest = positions(checkpoint.model_type, checkpoint.config, checkpoint.settings)
    if n_token is not None and n_token > longest:
        lost = "" if longest == n_position else f", {n_position - longest} of them for no token"
        most = f"--tokens must be at most {longest} (n_position = {n_position}{lost})"
        raise CheckpointError(f"{folder}: {most}, got {n_token}")


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


def _rows(folder, against, checkpoint, class_name, ids, layers):
    words = [folder, *(["--against", against] if against else []), "--dtype", layers.dtype]
    repeat = ["refcompare", "checkpoint", *map(str, words)]
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
                    "settings": {"config": repr(checkpoint.config)},
                },
                "dtype": layers.dtype, "backend": "numpy", "peer": "transformers",
                "verdict": verdict, "reason": reason, "repeat": shlex.join(repeat),
                "outputs": {"reference": layers.reference[stage], "peer": peer},
                "gradients": {"reference": {}, "peer": {}},
                "memory": None, "throughput": None,
                "seconds": {"total": layers.seconds / len(layers.peer), "measured": layers.seconds / len(layers.peer)},
            }
        )  # fmt: skip
    rows[0]["study"] = _study(layers)
    return rows


def _verdict(stage, peer, reference, first):
    for which in (ALONE, IN_MODEL):
        if not reference[which]["passed"]:
            return "FAIL", f"our own {stage} ({which}): {reference[which]['reason']}"
    if not peer[ALONE]["passed"]:
        return "FAIL", f"{stage} adds an error of its own, on the true input: {peer[ALONE]['reason']}"
    if not peer[IN_MODEL]["passed"]:
        return "FAIL", f"inherited from {first}: on the true input {stage} passes"
    return "PASS", ""


def _study(layers):
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
    text = f"Stages: {numbered}. Alone: each stage on the true input. {finding(layers.dtype, layers.peer)}"
    return {"title": f"Layer by layer, {layers.dtype}", "text": text, "panels": [panel]}


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
