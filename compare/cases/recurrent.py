"""What the recurrent cases share: how inputs are drawn, and PyTorch's modules as peers."""

import torch

from compare.cases.case import Inputs
from compare.cases.draw import normal, normal_params
from compare.peers.torch_peer import call_module, meta_module
from refimpl.layers.dropout import keep_mask

N_GATE = {"RNN": 1, "GRU": 3, "LSTM": 4}


def cell_shapes(kind, d_in, d_hidden, *, d_proj=None, biases=("ih", "hh")):
    """Shapes of the parameters of one cell."""
    n_row = N_GATE[kind] * d_hidden
    shapes = {"weight_ih": (n_row, d_in), "weight_hh": (n_row, d_proj or d_hidden)}
    projection = {} if d_proj is None else {"weight_hr": (d_proj, d_hidden)}
    return {**shapes, **{f"bias_{which}": (n_row,) for which in biases}, **projection}


def cell_inputs(generator, *, kind, n_batch, d_in, d_hidden, d_proj=None, biases=("ih", "hh"), scale=1.0):
    sizes = (d_proj or d_hidden, d_hidden)[: 2 if kind == "LSTM" else 1]
    params = normal_params(generator, cell_shapes(kind, d_in, d_hidden, d_proj=d_proj, biases=biases))
    arrays = [normal(generator, n_batch, d, scale=scale) for d in (d_in, *sizes)]
    return Inputs((*arrays, params))


def sequence_inputs(
    generator, *, kind, n_batch, n_seq, d_in, d_hidden, d_proj=None, n_layer=1, n_direction=1, biases=("ih", "hh"),
    has_state=True, lengths=None, rate=None,
):  # fmt: skip
    d_state, shapes = d_proj or d_hidden, {}
    for layer in range(n_layer):
        for way in ("", "_reverse")[:n_direction]:
            size = d_in if layer == 0 else n_direction * d_state
            cell = cell_shapes(kind, size, d_hidden, d_proj=d_proj, biases=biases)
            shapes |= {f"{key}_l{layer}{way}": shape for key, shape in cell.items()}
    sizes = (d_state, d_hidden)[: 2 if kind == "LSTM" else 1]
    states = [normal(generator, n_layer * n_direction, n_batch, d) if has_state else None for d in sizes]
    x = normal(generator, n_batch, n_seq, d_in)
    masks = {}
    if lengths is not None:
        masks["lengths"] = generator.permuted(lengths)
        for row, length in zip(x, masks["lengths"], strict=True):
            row[length:] = float("nan")  # padding may hold anything
    if rate is not None:
        masks["keep"] = keep_mask(generator, (n_layer - 1, n_batch, n_seq, n_direction * d_state), rate=rate)
    return Inputs((x, *states, normal_params(generator, shapes)), masks)


def torch_cell(kind, x, states, params, **options):
    """Run ``torch.nn.GRUCell`` and the like; it has two biases, of which an absent one is 0."""
    module = meta_module(getattr(torch.nn, f"{kind}Cell"), x.shape[-1], states[0].shape[-1], **options)
    return call_module(module, _with_biases(params), x, states if len(states) > 1 else states[0])


def torch_stack(
    kind, x, states, params, *, n_layer=1, bidirectional=False, lengths=None, keep=None, rate=0.0, **options
):
    """Run ``torch.nn.GRU`` and the like in their default layout, the batch second."""
    settings = {"bidirectional": bidirectional, "lengths": lengths, **options}
    if keep is None:
        y, lasts = _torch_layers(kind, x.transpose(0, 1), states, params, n_layer=n_layer, **settings)
        return y.transpose(0, 1), *lasts
    # PyTorch draws its own dropout between layers; ours goes between modules of one layer.
    y, found, n_direction = x.transpose(0, 1), [], 1 + bidirectional
    for layer in range(n_layer):
        own = {key.replace(f"_l{layer}", "_l0"): value for key, value in params.items() if f"_l{layer}" in key}
        here = slice(layer * n_direction, (layer + 1) * n_direction)
        start = [None if state is None else state[here] for state in states]
        y, lasts = _torch_layers(kind, y, start, own, n_layer=1, **settings)
        found.append(lasts)
        if layer < n_layer - 1:
            y = y * keep[layer].transpose(0, 1) * (1.0 / (1.0 - rate))
    return y.transpose(0, 1), *(torch.cat(parts) for parts in zip(*found, strict=True))


def _torch_layers(kind, x, states, params, *, n_layer, bidirectional, lengths, **options):
    d_hidden = params["weight_ih_l0"].shape[0] // N_GATE[kind]
    if "weight_hr_l0" in params:
        options["proj_size"] = params["weight_hr_l0"].shape[0]
    module = meta_module(
        getattr(torch.nn, kind), x.shape[-1], d_hidden, n_layer, bidirectional=bidirectional, **options
    )
    # These modules read their weights from a list of their own, which functional_call does not reach.
    full = _with_biases(params)
    module._flat_weights = [full[name] for name in module._flat_weights_names]
    state = None if states[0] is None else (tuple(states) if len(states) > 1 else states[0])
    if lengths is None:
        y, last = module(x, state)
    else:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), enforce_sorted=False)
        y, last = module(packed, state)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
    return y, last if isinstance(last, tuple) else (last,)


def _with_biases(params):
    absent = {}
    for key, weight in params.items():
        if key.startswith(("weight_ih", "weight_hh")):
            name = key.replace("weight", "bias")
            if name not in params:
                absent[name] = torch.zeros_like(weight[:, 0])
    return {**params, **absent}
