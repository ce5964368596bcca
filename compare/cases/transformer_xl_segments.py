"""Transformer-XL over several segments, the gradient stopped at each memory or carried through it."""

import torch

from compare.cases.bug import rewritten
from compare.cases.case import Case, Config, Inputs
from compare.cases.transformer_xl import DIVIDED, HF, PLAIN, SHARED, draw_segment, model_params
from compare.peers import transformer_xl_peer, transformer_xl_torch
from compare.peers.other_environment import what_is_missing
from refimpl.blocks.relative.segment_memory import segment_memory
from refimpl.models.transformer_xl.heads import transformer_xl_loss
from refimpl.models.transformer_xl.model import transformer_xl
from refimpl.models.transformer_xl.segments import transformer_xl_segments

N_SEGMENT = 3


def inputs(generator, *, config, n_batch, n_seq, n_before):
    text, memory = draw_segment(generator, config, n_batch, n_seq + 1, n_before)
    return Inputs((text[:, :-1], text[:, 1:], memory, model_params(generator, config, "backbone", "softmax")))


def segments(lm, token_ids, targets, memory, params, *, config, n_segment, through_memory=False):
    """Read segment by segment, as a training loop in PyTorch does."""
    losses = []
    for ids, following in zip(token_ids.split(n_segment, 1), targets.split(n_segment, 1), strict=True):
        log_probs, memory = lm(ids, memory, params, config=config)
        memory = memory if through_memory else memory.detach()
        losses.append(torch.nn.functional.nll_loss(log_probs.flatten(0, 1), following.flatten()))
    return tuple(losses)


def case(name, title, through_memory, configs, peers, bugs):
    return Case(
        name=name,
        section="models",
        title=title,
        reference=transformer_xl_segments,
        inputs=inputs,
        outputs=tuple(f"loss{i}" for i in range(N_SEGMENT)),
        configs=tuple(
            Config(
                each, {"config": config, "n_batch": 2, "n_seq": n_seq, "n_before": n_before},
                {"config": config, "n_segment": n_segment, "through_memory": through_memory},
                # Where the gradient is stopped it is not the derivative.
                profile=profile, oracles=through_memory,
            )
            for each, config, n_seq, n_segment, n_before, profile in configs
        ),
        dtypes=("float64", "float32"),
        peers=peers,
        elsewhere={HF: what_is_missing},
        bugs=bugs,
        plant_in=tuple(each for each, *_ in configs),
    )  # fmt: skip


CASES = [
    case(
        "transformer_xl_segments", "Transformer-XL over several segments", False,
        # The last segment is shorter; the memory is shorter than a segment, or spans several.
        (("short_memory", DIVIDED, 11, 4, 2, "quick"), ("long_memory", SHARED, 8, 3, 0, "full"),
         ("one_by_one", PLAIN, 3, 1, 1, "full")),
        {
            "torch": lambda *args, **settings: segments(transformer_xl_torch.lm, *args, **settings),
            HF: lambda *args, **settings: segments(transformer_xl_peer.lm, *args, **settings),
        },
        {
            "gradient through the memory": rewritten(
                transformer_xl_segments, "dmemory if through_memory else None", "dmemory"
            ),
            "memory never carried": rewritten(
                transformer_xl_segments, "memories[-1], params", "memory[:, :, :0], params"
            ),
            "gradients of the first segment only": rewritten(
                transformer_xl_segments, "add_gradients(dparams.get(key), dhere[key])", "dhere[key]"
            ),
        },
    ),
    case(
        "transformer_xl_through_memory", "Transformer-XL with its gradient carried through the memory", True,
        # Where the memory spans more than one segment, gradients pass a segment that did not make what they belong to.
        (("long_memory", SHARED, 8, 3, 0, "quick"), ("short_memory", DIVIDED, 11, 4, 2, "full")),
        {"torch": lambda *args, **settings: segments(transformer_xl_torch.lm, *args, **settings)},
        {
            "gradient stopped at the memory": rewritten(
                transformer_xl_segments, "dmemory if through_memory else None", "None"
            ),
            "gradient of what is kept longer lost": rewritten(
                transformer_xl_segments, transformer_xl_loss=rewritten(
                    transformer_xl_loss, transformer_xl=rewritten(
                        transformer_xl, "add_gradients(dkept, dseen)", "dseen"))
            ),
            "gradient to the oldest": rewritten(
                transformer_xl_segments, transformer_xl_loss=rewritten(
                    transformer_xl_loss, transformer_xl=rewritten(
                        transformer_xl, segment_memory=rewritten(
                            segment_memory, "(n_forgotten, 0), (0, 0)", "(0, n_forgotten), (0, 0)")))
            ),
        },
    ),
]  # fmt: skip
