"""What the settings of all decoder-only models have in common, between Hugging Face's config.json and ours."""

from refimpl.checkpoints.errors import shown
from refimpl.checkpoints.files.header import MOST_TENSORS
from refimpl.checkpoints.settings_map import not_accepted, not_choices, not_numbers, not_sizes

ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
}
THEIR_ACTIVATIONS = {**{ours: theirs for theirs, ours in ACTIVATIONS.items()}, "silu": "silu", "gelu": "gelu"}
# The only values that describe the models we have; None stands for an absent key.
ACCEPTED = {
    "is_encoder_decoder": (None, False),
    "add_cross_attention": (None, False),
    "pruned_heads": (None, {}),
    "quantization_config": (None,),
}
LARGEST = {"num_hidden_layers": MOST_TENSORS // 9, "n_layer": MOST_TENSORS // 9}  # a block has 9 tensors at least


def decoder_faults(settings, given, *, sizes, accepted, eps, flags=()):
    """Find what no decoder-only model of ours has.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    given : dict of str to object
        The same with what is absent or null as it is then.
    sizes : iterable of str
        The sizes that must be there.
    accepted : dict of (str, tuple)
        By key the only values that are supported.
    eps : str
        What the eps of the norms is called.
    flags : iterable of str
        The settings that are true or false.

    Returns
    -------
    list of str
        One fault for each, by key and value.
    """
    faults = not_accepted(settings, {**ACCEPTED, **accepted})
    faults += not_sizes(given, sizes, largest=LARGEST)
    faults += not_numbers(given, {eps: (0.0, 1.0)})
    if "hidden_act" in given:
        faults += not_choices(given, {"hidden_act": ACTIVATIONS})
    return faults + [
        f"{key} must be true or false, got {shown(given[key])}" for key in flags if not isinstance(given[key], bool)
    ]


def with_defaults(settings, defaults):
    """Fill in what is absent or null.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    defaults : dict of str to object
        By key what `transformers` takes it for.

    Returns
    -------
    dict of str to object
        All of it.
    """
    return {**defaults, **{key: value for key, value in settings.items() if value is not None}}


def head_faults(given, width, n_head):
    """Require heads of equal size.

    Parameters
    ----------
    given : dict of str to object
        Settings whose sizes are sizes.
    width, n_head : str
        What the width of the hidden states, and the number of heads, are called.

    Returns
    -------
    list of str
        A fault, or none.
    """
    if given[width] % given[n_head] == 0:
        return []
    return [f"{width} must be a multiple of {n_head} = {given[n_head]}, got {given[width]}"]
