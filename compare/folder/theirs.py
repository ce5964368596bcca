"""Models of `transformers`, run so that every layer can be seen and fed."""

from contextlib import ExitStack, nullcontext

import torch

from compare.folder.ours import Seen, stack_names
from compare.peers.float64_throughout import Float64Throughout
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.ledger import conventions

NEXT = "next-sentence logits"
DTYPES = {"float64": torch.float64, "float32": torch.float32}


def load_theirs(folder, class_name, dtype):
    """Load a folder with `transformers`.

    Parameters
    ----------
    folder : path-like
        The folder; nothing but safetensors is read of it, and no code.
    class_name : str
        The class.
    dtype : {"float64", "float32"}
        What its weights become.

    Returns
    -------
    torch.nn.Module
        The model, in evaluation mode.
    """
    import transformers  # takes seconds to import

    kernels = {"attn_implementation": "eager", "experts_implementation": "eager"}
    settings = {**kernels, "use_safetensors": True, "local_files_only": True}
    with _wide(dtype):
        loaded = getattr(transformers, class_name).from_pretrained(folder, dtype=DTYPES[dtype], **settings)
    if dtype == "float64":
        _widen(loaded)
    return loaded.eval()


def _widen(model):
    """Replace what has no more digits than float32 has, and is no weight."""
    names = FAMILIES[model.config.model_type].names
    for name, parameter in model.named_parameters():
        make = names.maker(name.removeprefix(names.prefix))
        if make:  # a table of sinusoids
            parameter.data = torch.tensor(make(tuple(parameter.shape)), dtype=parameter.dtype)
    for module in model.modules():
        if hasattr(module, "gelu_impl"):  # Bloom's own, with sqrt(2 / pi) in eight digits
            module.gelu_impl = torch.nn.GELU("tanh")


def run_theirs(model, model_type, ids, dtype, *, true=None):
    """Run a model of `transformers` and look at every layer.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    model_type : str
        Its family.
    ids : dict of (str, numpy.ndarray of int)
        As for `compare.folder.ours.run_ours`.
    dtype : {"float64", "float32"}
        In which it computes.
    true : list of (list of numpy.ndarray), optional
        What each layer shall hand to the next, instead of what it returns.

    Returns
    -------
    Seen
        What it showed, in NumPy arrays.
    """
    base = getattr(model, model.base_model_prefix, model)
    paths = conventions(model_type).blocks
    stacks = [_Stack(base, path, None if true is None else true[i]) for i, path in enumerate(paths)]
    words = {"token_ids": "input_ids", "target_ids": "decoder_input_ids", "images": "pixel_values"}
    keywords = {words[key]: torch.tensor(x) for key, x in ids.items()}
    if "images" in ids:
        keywords["pixel_values"] = keywords["pixel_values"].to(DTYPES[dtype])
    with torch.no_grad(), _wide(dtype), ExitStack() as hooks:
        for stack in stacks:
            stack.enter(hooks)
        told = model(**keywords, use_cache=False) if hasattr(model.config, "use_cache") else model(**keywords)
    stages = {}
    for name, stack in zip(stack_names(model_type), stacks, strict=True):
        embedded, *layers = stack.seen
        stages[f"{name}embeddings"] = embedded
        stages |= {f"{name}layer {i}": layer for i, layer in enumerate(layers)}
        stages[f"{name}last norm"] = stack.last
    names = {
        "logits_per_text": "logits of texts for images", "logits": "logits", "prediction_logits": "logits",
        "seq_relationship_logits": NEXT, "sop_logits": NEXT,
    }  # fmt: skip
    stages |= {names[key]: _numpy(told[key]) for key in names if key in told}
    return Seen(stages, [stack.seen for stack in stacks])


class _Stack:
    """The hooks of one stack of blocks."""

    def __init__(self, base, path, true):
        parent, _, name = path.rpartition(".")
        self.parent = base.get_submodule(parent)
        self.blocks = getattr(self.parent, name)
        self.true = true
        self.seen, self.last = [], None

    def enter(self, hooks):
        first = self.blocks[0].register_forward_pre_hook(self._embedded, with_kwargs=True)
        hooks.callback(first.remove)
        for block in self.blocks:
            hooks.callback(block.register_forward_hook(self._passed).remove)
        hooks.callback(self.parent.register_forward_hook(self._ended).remove)

    def _embedded(self, block, args, keywords):
        if self.seen:  # one block may be several layers
            return args, keywords
        if args:
            return (self._pass(args[0]), *args[1:]), keywords
        return args, {**keywords, "hidden_states": self._pass(keywords["hidden_states"])}

    def _passed(self, block, args, output):
        if isinstance(output, tuple | list):
            return type(output)((self._pass(output[0]), *output[1:]))
        return self._pass(output)

    def _ended(self, parent, args, output):
        self.last = _numpy(output[0])

    def _pass(self, x):
        self.seen.append(_numpy(x))
        if self.true is None:
            return x
        return torch.tensor(self.true[len(self.seen) - 1], dtype=x.dtype)


def _numpy(x):
    return x.detach().numpy().copy()


def _wide(dtype):
    return Float64Throughout() if dtype == "float64" else nullcontext()
