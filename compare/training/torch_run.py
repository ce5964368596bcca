"""The same training in PyTorch: the model of `transformers`, `torch.optim.AdamW`, the same numbers to begin with."""

import numpy as np
import torch

from refimpl.checkpoints.families.gpt.names import GPT_NAMES
from refimpl.checkpoints.families.gpt.settings import gpt_config_to_hf
from refimpl.commands.small_gpt import batches, first_params


def torch_losses(plan, token_ids):
    """Train in PyTorch.

    Parameters
    ----------
    plan : refimpl.commands.small_gpt.Plan
        How.
    token_ids : numpy.ndarray of int, shape (n_token,)
        On what.

    Yields
    ------
    float
        The loss of every step.
    """
    model = _model(plan)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": plan.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8)
    for step, (inputs, targets) in enumerate(batches(plan, token_ids)):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        logits = model(torch.tensor(inputs)).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def _model(plan):
    import transformers  # takes seconds to import

    settings = gpt_config_to_hf(plan.config, frozenset())
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings))
    tensors = GPT_NAMES["gpt2"].to_hf(first_params(plan), plan.config)
    weights = {_with_prefix(name): torch.tensor(np.asarray(x)) for name, x in tensors.items()}
    model.to(getattr(torch, plan.dtype)).load_state_dict(weights, strict=False)
    return model.eval()  # without dropout


def _with_prefix(name):
    prefix = GPT_NAMES["gpt2"].prefix
    return name if name.startswith(prefix) else prefix + name
