"""What stands above the layers is judged as they are: by its own error, or one that it inherits."""

import pytest

from compare.folder.layers import ALONE, IN_MODEL
from compare.folder.models import ENDS, IMAGES, LOGITS, NEXT, PAIRS, POOLER, STARTS, TEXTS
from refimpl.checkpoints.ledger import conventions
from tests.compare.folder.compared import CLASSES, compared

RESULTS = {LOGITS, NEXT, STARTS, ENDS, PAIRS}
NOTHING_ABOVE = {"DistilBertModel", "OpenAIGPTModel", "BartModel", "MarianModel"}
# Of each class a part above the layers, and the stages that an error in it is one of.
PARTS = [
    ("bert", "BertModel", "pooler.dense", {POOLER}),
    ("bert", "BertForMaskedLM", "cls.predictions.transform.dense", {LOGITS}),
    ("bert", "BertForPreTraining", "cls.seq_relationship", {NEXT}),
    ("bert", "BertForPreTraining", "cls.predictions.transform.LayerNorm", {LOGITS}),
    ("bert", "BertForPreTraining", "bert.pooler.dense", {POOLER}),
    ("bert", "BertForNextSentencePrediction", "cls.seq_relationship", {LOGITS}),
    ("bert", "BertForSequenceClassification", "classifier", {LOGITS}),
    ("bert", "BertForSequenceClassification", "bert.pooler.dense", {POOLER}),
    ("bert", "BertForTokenClassification", "classifier", {LOGITS}),
    ("bert", "BertForQuestionAnswering", "qa_outputs", {STARTS, ENDS}),
    ("roberta", "RobertaModel", "pooler.dense", {POOLER}),
    ("roberta", "RobertaForMaskedLM", "lm_head.dense", {LOGITS}),
    ("roberta", "RobertaForSequenceClassification", "classifier.dense", {LOGITS}),
    ("roberta", "RobertaForTokenClassification", "classifier", {LOGITS}),
    ("roberta", "RobertaForQuestionAnswering", "qa_outputs", {STARTS, ENDS}),
    ("distilbert", "DistilBertForMaskedLM", "vocab_transform", {LOGITS}),
    ("distilbert", "DistilBertForSequenceClassification", "pre_classifier", {POOLER}),
    ("distilbert", "DistilBertForSequenceClassification", "classifier", {LOGITS}),
    ("distilbert", "DistilBertForTokenClassification", "classifier", {LOGITS}),
    ("distilbert", "DistilBertForQuestionAnswering", "qa_outputs", {STARTS, ENDS}),
    ("albert", "AlbertModel", "pooler", {POOLER}),
    ("albert", "AlbertForMaskedLM", "predictions.dense", {LOGITS}),
    ("albert", "AlbertForPreTraining", "sop_classifier.classifier", {NEXT}),
    ("albert", "AlbertForSequenceClassification", "albert.pooler", {POOLER}),
    ("albert", "AlbertForSequenceClassification", "classifier", {LOGITS}),
    ("albert", "AlbertForTokenClassification", "classifier", {LOGITS}),
    ("albert", "AlbertForQuestionAnswering", "qa_outputs", {STARTS, ENDS}),
    ("longformer", "LongformerModel", "pooler.dense", {POOLER}),
    ("clip", "CLIPModel", "visual_projection", {IMAGES}),
    ("clip", "CLIPModel", "vision_model.post_layernorm", {IMAGES}),
    ("clip", "CLIPModel", "text_projection", {TEXTS}),
    ("clip", "CLIPModel", "", {PAIRS}),
    ("gpt2", "GPT2Model", "ln_f", {"last norm"}),
    ("gpt2", "GPT2LMHeadModel", "transformer.ln_f", {"last norm"}),
    ("gpt2", "GPT2ForSequenceClassification", "score", {LOGITS}),
    ("openai-gpt", "OpenAIGPTForSequenceClassification", "score", {LOGITS}),
    ("llama", "LlamaForCausalLM", "model.norm", {"last norm"}),
    ("llama", "LlamaForCausalLM", "lm_head", {LOGITS}),
    ("mistral", "MistralForCausalLM", "lm_head", {LOGITS}),
    ("mixtral", "MixtralForCausalLM", "lm_head", {LOGITS}),
    ("qwen2_moe", "Qwen2MoeForCausalLM", "lm_head", {LOGITS}),
    ("gpt_neox", "GPTNeoXForCausalLM", "lm_head", {LOGITS}),
    ("bloom", "BloomForCausalLM", "transformer.ln_f", {"last norm"}),
    ("bart", "BartForConditionalGeneration", "", {LOGITS}),
    ("marian", "MarianMTModel", "", {LOGITS}),
    ("pegasus", "PegasusForConditionalGeneration", "model.encoder.layer_norm", {"encoder last norm"}),
    ("pegasus", "PegasusForConditionalGeneration", "model.decoder.layer_norm", {"decoder last norm"}),
    ("t5", "T5ForConditionalGeneration", "decoder.final_layer_norm", {"decoder last norm"}),
]


def spoil(module):
    """Change what belongs to a module itself: all of it, where it is no model."""
    tensors = [*module.parameters(recurse=False)] or [module.final_logits_bias]
    for tensor in tensors:
        tensor.add_(0.125)


@pytest.mark.parametrize(("name", "class_name", "path", "stages"), PARTS, ids=[f"{p[1]}-{p[2]}" for p in PARTS])
def test_a_spoiled_part_above_the_layers_is_named(name, class_name, path, stages, folders):
    folder = folders(name, class_name)
    layers = compared(folder, class_name, "float64", lambda model: spoil(model.get_submodule(path)))
    assert {stage for stage, figures in layers.peer.items() if not figures[ALONE]["passed"]} == stages
    assert layers.first(ALONE) == layers.first(IN_MODEL) == next(stage for stage in layers.peer if stage in stages)
    assert all(figures["passed"] for side in layers.reference.values() for figures in side.values())


@pytest.mark.parametrize(("name", "class_name"), CLASSES, ids=[class_name for _, class_name in CLASSES])
def test_what_stands_above_a_spoiled_layer_inherits_its_error(name, class_name, folders):
    stacks = conventions(name).blocks

    def spoil_last_layers(model):
        base = getattr(model, model.base_model_prefix, model)
        for path in stacks:
            next(base.get_submodule(path)[-1].parameters()).mul_(1.25)

    layers = compared(folders(name, class_name), class_name, "float64", spoil_last_layers)
    own = {stage for stage, figures in layers.peer.items() if not figures[ALONE]["passed"]}
    assert own and all("layer" in stage for stage in own)
    above = [stage for stage in layers.peer if stage in RESULTS | {POOLER, IMAGES, TEXTS} or "norm" in stage]
    assert bool(above) == (class_name not in NOTHING_ABOVE)
    for stage in above:
        assert layers.peer[stage][ALONE]["passed"]
        assert not layers.peer[stage][IN_MODEL]["passed"]
