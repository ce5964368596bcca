"""Folders with a tiny random model of `transformers` and a small tokenizer that is trained here."""

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, PreTrainedTokenizerFast

from tests.checkpoints.tiny import tiny_config, tiny_model

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]  # as Bart numbers them
VOCAB_SIZE = 60
CLASSES = {
    "bart": "BartForConditionalGeneration", "marian": "MarianMTModel", "pegasus": "PegasusForConditionalGeneration",
    "t5": "T5ForConditionalGeneration", "gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM",
}  # fmt: skip
WITH_ENCODER = ("bart", "marian", "pegasus", "t5")
LONGER = {"gpt2": "n_positions", "t5": None}
IDS = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
# Random models like one token; where none may come twice, a text tells the order of many.  Padding is text for
# `transformers`, and may not come again: here it never may.
VARIED = {"no_repeat_ngram_size": 1, "suppress_tokens": [1]}
LINES = ["the king met the queen", "a fool of the king", "he and she in the hall", "Grüße, naïve ŋ — 王"]


def small_tokenizer(model_type):
    """Byte pairs; a text ends with </s> where an encoder reads it, and begins with <s> for a Llama."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(LINES * 3, trainer)
    single = "$A </s>" if model_type in WITH_ENCODER else "<s> $A" if model_type == "llama" else "$A"
    named = [(token, SPECIAL.index(token)) for token in ("<s>", "</s>") if token in single]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=named)
    return tokenizer


def tiny_folder(folder, model_type, seed=0, **said):
    """Save a random model whose texts differ; `said` becomes its generation_config.json."""
    longest = LONGER.get(model_type, "max_position_embeddings")
    start = {"decoder_start_token_id": 1 if model_type != "bart" else 2} if model_type in WITH_ENCODER else {}
    # The cache of T5 in `transformers` has as many layers as the encoder.
    more = {longest: 48} if longest else {"num_decoder_layers": 2}
    config = tiny_config(model_type, vocab_size=VOCAB_SIZE, **IDS, **more)
    model = tiny_model(CLASSES[model_type], config, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.normal_(std=0.8 if parameter.ndim > 1 else 0.2)
                if parameter.ndim == 1 and name.endswith("weight"):
                    parameter.add_(1.0)  # norms that pass on what they read: else every text is the same
    model.save_pretrained(folder)
    small_tokenizer(model_type).save(str(folder / "tokenizer.json"))
    (folder / "generation_config.json").write_text(json.dumps({**IDS, **start, **VARIED, **said}))
    return folder


def their_texts(folder, prompts, **settings):
    """What `transformers` writes with a folder, and how many tokens that takes."""
    settings_of = json.loads((folder / "config.json").read_text())
    has_encoder = settings_of.get("is_encoder_decoder", False)
    kind = AutoModelForSeq2SeqLM if has_encoder else AutoModelForCausalLM
    model = kind.from_pretrained(folder, dtype=torch.float64).eval()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="<pad>", eos_token="</s>", bos_token="<s>",
        unk_token="<unk>", padding_side="right" if has_encoder else "left",
    )  # fmt: skip
    batch = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
    out = model.generate(**batch, **settings)
    new = out[:, 1 if has_encoder else batch["input_ids"].shape[1] :].tolist()
    ends = model.generation_config.eos_token_id
    rows = [_cut(row, ends if isinstance(ends, list) else [ends]) for row in new]
    texts = tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    n_each = len(texts) // len(prompts)
    said_again = ["" if has_encoder else prompt for prompt in prompts for _ in range(n_each)]
    return [prompt + text for prompt, text in zip(said_again, texts, strict=True)], sum(map(len, rows))


def _cut(row, ends):
    """Leave out what stands behind the token that ended a text."""
    places = [i for i, token in enumerate(row) if token in ends]
    return row[: places[0] + 1] if places else row
