"""Our models by the name of their family, run so that every layer can be seen."""

from dataclasses import dataclass

from compare.folder.models import RUNS
from compare.folder.watch import watching

KINDS = {
    "bert": "bert", "roberta": "bert", "distilbert": "bert", "albert": "bert", "longformer": "longformer",
    "clip": "clip", "gpt2": "gpt", "openai-gpt": "gpt", "bart": "encoder_decoder", "marian": "encoder_decoder",
    "pegasus": "encoder_decoder", "t5": "t5", "transfo-xl": "transformer_xl",
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2_moe", "gpt_neox", "bloom"), "decoder"),
}  # fmt: skip


def stack_names(model_type):
    """Name the stacks of blocks of a model.

    Parameters
    ----------
    model_type : str
        Its family.

    Returns
    -------
    tuple of str
        What stands in front of the names of their layers.
    """
    if KINDS[model_type] == "clip":
        return ("image ", "text ")
    return ("encoder ", "decoder ") if reads_two(model_type) else ("",)


def reads_two(model_type):
    """Tell whether a model reads a source and a target.

    Parameters
    ----------
    model_type : str
        Its family.

    Returns
    -------
    bool
        True for an encoder–decoder.
    """
    return KINDS[model_type] in ("encoder_decoder", "t5")


@dataclass(frozen=True)
class Seen:
    """What a model showed.

    Attributes
    ----------
    stages : dict of (str, array)
        By name, from the embeddings upwards: what each stage returned.
    handed : frozenset of str
        Those of them that another stage reads.
    """

    stages: dict
    handed: frozenset = frozenset()


def run_ours(model_type, ids, params, config, *, groups, true=None, note=None):
    """Run our model and look at every stage.

    Parameters
    ----------
    model_type : str
        Its family.
    ids : dict of (str, array)
        What it reads, as `compare.folder.inputs.draw_inputs` gives it.
    params : dict of array
        Our parameters, of any kind of array.
    config : object
        Our sizes and settings.
    groups : frozenset of str
        The parts of the model beside the backbone.
    true : dict of (str, array), optional
        By stage what it shall hand to the next, instead of what it returns.
    note : callable, optional
        Called after every stage.

    Returns
    -------
    Seen
        What it showed.
    """
    with watching(stack_names(model_type), true, note) as watch:
        results = RUNS[KINDS[model_type]](ids, params, config, groups)
    return Seen(watch.seen | results, frozenset(watch.seen))
