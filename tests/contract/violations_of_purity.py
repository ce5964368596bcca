"""What a component may change: small edits (sample, old text, new text), each of which breaks one rule."""

from tests.contract.edits import (
    CENTRED,
    CHECK,
    GATHER,
    IMPORT,
    INV_STD,
    LAYER_NORM,
    LOOKUP,
    LOOP,
    SIGNATURE,
    G,
    after,
)

VIOLATIONS = {
    "no_item_assignment": [
        (LAYER_NORM, *after(CENTRED, "centred[0] = 0.0")),
        (LAYER_NORM, *after(CENTRED, 'params["weight"] = bias')),
        (LAYER_NORM, *after(CENTRED, "x.shape = (1,)")),
        (LAYER_NORM, *after(CENTRED, "for centred[0] in range(2):", "    check_shape('x', x, (1,))")),
    ],
    "no_augmented_assignment": [
        (GATHER, LOOP, f"{LOOP}\n    half_heads += 1"),
        (GATHER, LOOP, f"{LOOP}\n    sums += [allowed]"),
    ],
    "no_del": [(LAYER_NORM, *after(INV_STD, "del variance"))],
    "no_out": [(LAYER_NORM, CHECK, "check_shape('bias', bias, x.shape[-1:], out=centre)")],
    "no_global": [
        (LAYER_NORM, *after(LOOKUP, "global COUNT")),
        (LAYER_NORM, G, f"nonlocal total\n        {G}"),
    ],
    "mutates_only_its_own": [
        (LAYER_NORM, *after(LOOKUP, "params.update(extra=x)")),
        (LAYER_NORM, *after(LOOKUP, 'params.pop("bias")')),
        (LAYER_NORM, G, f"seen.append(dy)\n        {G}"),
        (GATHER, "share = math", "sums.clear()\n        share = math"),
        (GATHER, "sums.append(xp", "KINDS.append(xp"),
    ],
    "no_hidden_state": [
        (LAYER_NORM, SIGNATURE, SIGNATURE.replace("eps=1e-5", "eps=1e-5, seen=[]")),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nseen = {{}}\n"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nSEEN: dict = {{}}\n"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\ncheck_shape(1, 2, 3)\n"),
        (LAYER_NORM, SIGNATURE, f"@lru_cache\n{SIGNATURE}"),
        (LAYER_NORM, IMPORT, f"{IMPORT}\nfor i in range(3):\n    check_shape(i, 2, 3)\n"),
    ],
    "frozen_classes": [
        (GATHER, "@dataclass(frozen=True)\n", ""),
        (GATHER, "@dataclass(frozen=True)\n", "@dataclass\n"),
    ],
    "no_side_effects": [
        (LAYER_NORM, *after(CENTRED, "print(centred.shape)")),
        (LAYER_NORM, *after(CENTRED, 'log = open("log")')),
        (LAYER_NORM, *after(CENTRED, 'three = eval("3")')),
    ],
    "no_randomness": [
        (GATHER, "return generator.random(shape)", "return random(shape)"),
        (GATHER, "return generator.random(shape)", "return default_rng(0).uniform(shape)"),
        (GATHER, "def keep_mask(generator, ", "def keep_mask(source, generator_kind, "),
        (GATHER, "return x if mask", "noise = generator.random(3)\n    return x if mask"),
    ],
    "no_assert": [(LAYER_NORM, CHECK, "assert bias.shape == x.shape[-1:]")],
    "plain_errors": [
        (GATHER, "raise ValueError(", "raise RuntimeError("),
        (GATHER, "raise ValueError(", "raise NotImplementedError("),
        (LAYER_NORM, CHECK, f"try:\n        {CHECK}\n    finally:\n        check_shape('x', x, (1,))"),
    ],
}
