"""Rotary positions between Hugging Face's config.json and our settings."""

from refimpl.checkpoints.errors import shown
from refimpl.checkpoints.settings_map import is_integer, is_number
from refimpl.positions.rotary_scaling import DynamicNtkScaling, LinearScaling, Llama3Scaling, YarnScaling

N_TRAINED = "original_max_position_embeddings"
# By type the numbers that there must be, and those that there may be with what they are when absent or null.
REQUIRED = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}
OPTIONAL = {
    "yarn": {"beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": None, "truncate": True},
}
# Beside `rope_parameters`, which say all of it today.
OLD_KEYS = (N_TRAINED, "rope_scaling", "rope_theta", "partial_rotary_factor", "rotary_pct", "rotary_emb_base")
# Where another type has it, it means nothing to this one.
MEANINGLESS = {N_TRAINED, "type", "rope_type", "rope_theta", "partial_rotary_factor"}


def rotary_from_hf(settings, *, theta=10000.0, share=1.0):
    """Read the rotary positions of a Hugging Face model.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds: ``rope_parameters``, or in older files ``rope_scaling``, ``rope_theta`` and
        ``partial_rotary_factor``.
    theta, share : float, optional
        The base and the share of features that are turned, where nothing is said.

    Returns
    -------
    dict of str to object
        ``theta``, ``share`` and ``scaling``, a rule of `refimpl.positions.rotary_scaling` or None.
    faults : list of str
        What is not supported, by key and value; then the settings are not to be used.
    """
    new, old = ({} if settings.get(key) is None else settings[key] for key in ("rope_parameters", "rope_scaling"))
    given = new or old
    if not isinstance(given, dict):
        return {}, [f"rope_parameters must be an object, got {shown(given)}"]
    if new and old and new != old:  # `transformers` would take the old
        return {}, [f"rope_scaling must be absent where there are rope_parameters, got {shown(old)}"]
    found = {
        "theta": _first(given.get("rope_theta"), settings.get("rope_theta"), theta),
        "share": _first(given.get("partial_rotary_factor"), settings.get("partial_rotary_factor"), share),
    }
    faults = [
        f"{key} must be a number {text}, got {shown(value)}"
        for key, value, fits, text in (
            ("rope_theta", found["theta"], lambda x: x > 1, "above 1"),
            ("partial_rotary_factor", found["share"], lambda x: 0 < x <= 1, "in (0, 1]"),
        )
        if not (is_number(value) and fits(value))
    ]
    kind = _first(given.get("rope_type"), given.get("type"), "default")
    if not isinstance(kind, str) or kind not in REQUIRED:
        return found, [*faults, f"rope_type must be one of {', '.join(REQUIRED)}, got {shown(kind)}"]
    faults += _not_numbers(given, kind)
    longest = settings.get("max_position_embeddings")
    n_trained = longest if kind == "dynamic" else _first(settings.get(N_TRAINED), given.get(N_TRAINED), longest)
    if kind in ("dynamic", "yarn", "llama3") and not (is_integer(n_trained) and n_trained > 0):
        faults.append(f"{N_TRAINED} or max_position_embeddings must be a positive integer, got {shown(n_trained)}")
    return {**found, "scaling": None if faults else _rule(given, kind, n_trained)}, faults


def rotary_to_hf(rotary, *, d_head):
    """Write rotary positions as Hugging Face does, the inverse of `rotary_from_hf`.

    Parameters
    ----------
    rotary : refimpl.models.decoder.parts.Rotary
        Our settings.
    d_head : int
        The size of a head.

    Returns
    -------
    dict of str to object
        ``rope_parameters``, and ``max_position_embeddings`` where the rule depends on it.

    Raises
    ------
    TypeError
        If Hugging Face has no such rule.
    """
    share = {} if rotary.d_rotary is None else {"partial_rotary_factor": rotary.d_rotary / d_head}
    rope = {"rope_theta": rotary.theta, **share}
    match rotary.scaling:
        case None:
            return {"rope_parameters": {**rope, "rope_type": "default"}}
        case LinearScaling(factor):
            return {"rope_parameters": {**rope, "rope_type": "linear", "factor": factor}}
        case DynamicNtkScaling(factor, n_trained):
            rope = {**rope, "rope_type": "dynamic", "factor": factor}
            return {"rope_parameters": rope, "max_position_embeddings": n_trained}
        case YarnScaling(factor, n_trained) as rule:
            turns = {"beta_fast": rule.n_turn_fast, "beta_slow": rule.n_turn_slow, "truncate": rule.whole_pairs}
            sharpened = {} if rule.attention_factor is None else {"attention_factor": rule.attention_factor}
            rope = {**rope, "rope_type": "yarn", "factor": factor, N_TRAINED: n_trained, **turns, **sharpened}
        case Llama3Scaling(factor, n_trained, low, high):
            rope = {**rope, "rope_type": "llama3", "factor": factor, N_TRAINED: n_trained}
            rope = {**rope, "low_freq_factor": low, "high_freq_factor": high}
        case other:
            raise TypeError(f"scaling must be a rule that Hugging Face has, got {other!r}")
    return {"rope_parameters": rope, "max_position_embeddings": int(factor * n_trained)}


def _rule(given, kind, n_trained):
    numbers = [float(given[key]) for key in REQUIRED[kind]]
    match kind:
        case "default":
            return None
        case "linear":
            return LinearScaling(*numbers)
        case "dynamic":
            return DynamicNtkScaling(*numbers, n_trained)
        case "llama3":
            factor, low, high = numbers
            return Llama3Scaling(factor, n_trained, low, high)
    optional = [default if given.get(key) is None else given[key] for key, default in OPTIONAL["yarn"].items()]
    return YarnScaling(*numbers, n_trained, *optional)


def _not_numbers(given, kind):
    flags = ("truncate",)
    wrong = [(key, "a positive number") for key in REQUIRED[kind] if not _is_positive(given.get(key))]
    for key in OPTIONAL.get(kind, {}):
        is_flag, value = key in flags, given.get(key)
        if value is not None and not (isinstance(value, bool) if is_flag else _is_positive(value)):
            wrong.append((key, "true or false" if is_flag else "a positive number"))
    low, high = (given.get(f"{which}_freq_factor") for which in ("low", "high"))
    if kind == "llama3" and not wrong and low >= high:
        wrong.append(("high_freq_factor", f"greater than low_freq_factor = {low}"))
    known = {*REQUIRED[kind], *OPTIONAL.get(kind, {}), *MEANINGLESS}
    wrong += [(key, "absent") for key, value in given.items() if key not in known and value is not None]
    return [f"{key} must be {expected} for rope_type {kind}, got {shown(given.get(key))}" for key, expected in wrong]


def _first(*values):
    """Take the first that is said: 0 is said, null is not."""
    return next((value for value in values if value is not None), None)


def _is_positive(value):
    return is_number(value) and value > 0
