"""What can be wrong in every recurrent network, whatever its cell."""

from compare.cases.bug import rewritten
from refimpl.layers.dropout import dropout
from refimpl.recurrent import layer, stack

LAYER_BUGS = {
    "states run on past the end": {"_held": lambda xp, stepped, before, inside, t: stepped},
    "outputs past the end": {"old": "y = _blanked(xp, xp.stack", "new": "y = (lambda xp, x, _: x)(xp, xp.stack"},
    "reverse direction not turned back": {"old": "hidden[::-1] if reverse else hidden", "new": "hidden"},
    "gradients not turned back": {"old": "dfrom_x if reverse else dfrom_x[::-1]", "new": "dfrom_x"},
    "weight gradient of the first step alone": {
        "old": "dcell if dparams is None else {key: dparams[key] + dcell[key] for key in dcell}",
        "new": "dcell",
    },
    "gradient through time cut": {"old": "(dstate[0] + dhidden_inside[:, t], *dstate[1:])",
                                  "new": "(dhidden_inside[:, t], *(0.0 * d for d in dstate[1:]))"},
    "gradient of the last state lost": {"old": "dstate, dfrom_x, dparams = tuple(dfinal)",
                                        "new": "dstate, dfrom_x, dparams = tuple(0.0 * d for d in dfinal)"},
    "gradient does not pass the padding": {
        "old": "tuple(db if dh is None else db + dh for db, dh in zip(dbefore, dheld, strict=True))",
        "new": "tuple(dbefore)",
    },
}  # fmt: skip
STACK_BUGS = {
    "first states of the layers exchanged": {
        "_start": rewritten(stack._start, "given[i]", "given[-1 - i]"),
    },
    "both directions read forwards": {"_level": rewritten(stack._level, "reverse=cell.is_reverse", "reverse=False")},
    "directions exchanged": {
        "_level": rewritten(stack._level, "[done[0] for done in read]", "[done[0] for done in read[::-1]]"),
    },
    "gradient of one direction alone": {
        "_level": rewritten(stack._level, "dxs[0] if len(dxs) == 1 else dxs[0] + dxs[1]", "dxs[0]"),
    },
    "dropout not rescaled": {"_dropped": rewritten(stack._dropped, dropout=rewritten(
        dropout, "1.0 / (1.0 - rate) if rate < 1.0 else 0.0", "1.0"))},
    "gradient of dropout forgotten": {"old": "drop_pullbacks[layer](dbelow)",
                                      "new": "(dbelow,)"},
}  # fmt: skip
SEQUENCE_BUGS = (*LAYER_BUGS, *STACK_BUGS)


def wrong_sequence(function, name):
    """Build one of the wrong variants of `rnn`, `gru` or `lstm`."""
    if name in STACK_BUGS:
        return rewritten(function, recurrent_stack=rewritten(stack.recurrent_stack, **STACK_BUGS[name]))
    level = rewritten(stack._level, recurrent_layer=rewritten(layer.recurrent_layer, **LAYER_BUGS[name]))
    return rewritten(function, recurrent_stack=rewritten(stack.recurrent_stack, _level=level))
