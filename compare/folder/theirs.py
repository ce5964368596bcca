"""Models of `transformers`, run so that every layer can be seen and fed."""

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

import torch

from compare.folder.models import ENDS, IMAGES, LOGITS, NEXT, PAIRS, POOLER, STARTS, TEXTS
from compare.folder.ours import Seen, stack_names
from compare.peers.float64_throughout import throughout
from refimpl.checkpoints.families.registry import FAMILIES
from refimpl.checkpoints.ledger import conventions

DTYPES = {"float64": torch.float64, "float32": torch.float32}
# What results are called; the first that a stage has is it.
RESULTS = {
    "logits": LOGITS, "prediction_logits": LOGITS, "seq_relationship_logits": NEXT, "sop_logits": NEXT,
    "start_logits": STARTS, "end_logits": ENDS, "logits_per_text": PAIRS,
}  # fmt: skip
# Where a stage between blocks and results ends: its name, the module, and what the module leaves to its caller.
BETWEEN = {
    **dict.fromkeys(("bert", "roberta", "longformer"), ((POOLER, "pooler", None),)),
    "albert": ((POOLER, "pooler_activation", None),),
    "distilbert": ((POOLER, "pre_classifier", torch.relu),),
    "clip": ((IMAGES, "visual_projection", None), (TEXTS, "text_projection", None)),
}


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
    Theirs
        The model, in evaluation mode.
    """
    import transformers  # takes seconds to import

    kernels = {"attn_implementation": "eager", "experts_implementation": "eager"}
    settings = {**kernels, "use_safetensors": True, "local_files_only": True}
    with throughout(DTYPES[dtype]):
        loaded = getattr(transformers, class_name).from_pretrained(folder, dtype=DTYPES[dtype], **settings)
    compute_constants(loaded, dtype)
    return Theirs(loaded.eval(), dtype)


def compute_constants(model, dtype):
    """Replace what is no weight, and has fewer digits than the dtype.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        The model; it is changed.
    dtype : {"float64", "float32"}
        In which it computes.
    """
    names = FAMILIES[model.config.model_type].names
    for name, parameter in model.named_parameters():
        make = names.maker(name.removeprefix(names.prefix))
        if make:  # a table of sinusoids, which in a file in bfloat16 have three digits
            parameter.data = torch.tensor(make(tuple(parameter.shape)), dtype=parameter.dtype)
    for module in model.modules():
        if dtype == "float64" and hasattr(module, "gelu_impl"):  # Bloom's own, with sqrt(2 / pi) in eight digits
            module.gelu_impl = torch.nn.GELU("tanh")


@dataclass(frozen=True)
class Theirs:
    """A model of `transformers` in this process.

    Attributes
    ----------
    model : torch.nn.Module
        The model.
    dtype : {"float64", "float32"}
        In which it computes.
    """

    model: torch.nn.Module
    dtype: str

    def run(self, ids, *, true=None, note=None):
        """Run it and look at every stage.

        Parameters
        ----------
        ids : dict of (str, numpy.ndarray)
            As for `compare.folder.ours.run_ours`.
        true : dict of (str, numpy.ndarray), optional
            By stage what it shall hand to the next, instead of what it returns.
        note : callable, optional
            Called after every stage.

        Returns
        -------
        Seen
            What it showed, in NumPy arrays.
        """
        hooks = _Hooks(self.model, true or {}, note or (lambda: None))
        words = {"token_ids": "input_ids", "target_ids": "decoder_input_ids", "images": "pixel_values"}
        keywords = {words[key]: torch.tensor(x) for key, x in ids.items()}
        if "images" in ids:
            keywords["pixel_values"] = keywords["pixel_values"].to(DTYPES[self.dtype])
        if hasattr(self.model.config, "use_cache"):
            keywords["use_cache"] = False
        with torch.no_grad(), throughout(DTYPES[self.dtype]), hooks:
            told = self.model(**keywords)
        results = {RESULTS[key]: _numpy(told[key]) for key in RESULTS if key in told}
        return Seen(hooks.seen | results)


class _Hooks(ExitStack):
    """What looks at the stages of a model while it runs, and feeds them what is true."""

    def __init__(self, model, true, note):
        super().__init__()
        self.seen = {}
        self._true, self._note = true, note
        base, model_type = getattr(model, model.base_model_prefix, model), model.config.model_type
        for name, path in zip(stack_names(model_type), conventions(model_type).blocks, strict=True):
            self._watch_stack(base, name, path)
        for stage, path, rest in BETWEEN.get(model_type, ()):
            module = getattr(base, path, None) or getattr(model, path, None)
            if module is not None:
                self._on(module, stage, rest=rest)

    def _watch_stack(self, base, name, path):
        parent = base.get_submodule(path.rpartition(".")[0])
        blocks = base.get_submodule(path)
        entrance = blocks[0].register_forward_pre_hook(self._entering(f"{name}embeddings"), with_kwargs=True)
        self.callback(entrance.remove)
        numbers = count()  # one block may be several layers
        for block in blocks:
            self._on(block, lambda: f"{name}layer {next(numbers)}")
        self._on(parent, f"{name}last norm")

    def _entering(self, stage):
        def hook(module, args, keywords):
            if stage in self.seen:
                return args, keywords
            if args:
                return (self._point(stage, args[0]), *args[1:]), keywords
            return args, {**keywords, "hidden_states": self._point(stage, keywords["hidden_states"])}

        return hook

    def _on(self, module, stage, *, rest=None):
        def hook(module, args, output):
            name = stage if isinstance(stage, str) else stage()
            if isinstance(output, torch.Tensor):
                return self._point(name, output if rest is None else rest(output))
            if isinstance(output, dict):
                key = next(iter(output))
                output[key] = self._point(name, output[key])
                return output
            return type(output)((self._point(name, output[0]), *output[1:]))

        self.callback(module.register_forward_hook(hook).remove)

    def _point(self, stage, x):
        self.seen[stage] = _numpy(x)
        self._note()
        return torch.tensor(self._true[stage], dtype=x.dtype) if stage in self._true else x


def _numpy(x):
    return x.detach().numpy().copy()
