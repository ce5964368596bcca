"""A model out of a folder, ready to write: its step function, its tokenizer, its limits, what it says of generation."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from refimpl.arrays import array_namespace, asarray
from refimpl.checkpoints.errors import CheckpointError
from refimpl.checkpoints.folder import load_folder
from refimpl.checkpoints.generation_settings import Generation, read_generation
from refimpl.checkpoints.tokenizer import load_tokenizer
from refimpl.commands.options import Usage
from refimpl.commands.readers import READINGS, Reading
from refimpl.generation import Model, pad_left

BART_ENDS = ("<s>", "</s>")  # what stands around a text for Bart where its tokenizer is a vocabulary and merges


@dataclass(frozen=True)
class Writer:
    """A model that writes.

    Attributes
    ----------
    params : dict of (str, array)
        Its parameters.
    config : object
        Its sizes and settings.
    reading : Reading
        How it reads.
    tokenizer : tokenizers.Tokenizer
        Between its tokens and strings.
    generation : Generation
        What its folder says about generation.
    use_cache : bool
        Whether it remembers what it has read.
    """

    params: Mapping
    config: Any
    reading: Reading
    tokenizer: Any
    generation: Generation
    use_cache: bool = True

    @property
    def vocab_size(self):
        """Count its tokens.

        Returns
        -------
        int
            How many.
        """
        return self.config.vocab_size

    @property
    def max_length(self):
        """Say how many positions it has, for what it writes and, if it has an encoder, as many for what it reads.

        Returns
        -------
        int or None
            None where there is no limit.
        """
        return getattr(self.config, "n_position", None)

    @property
    def bos_id(self):
        """Say which token begins a text.

        Returns
        -------
        int or None
            None where no token does.
        """
        return self.generation.said.get("bos_token_id")

    def encoded(self, string, *, whole=True):
        """Turn a string into tokens.

        Parameters
        ----------
        string : str
            The string.
        whole : bool, optional
            True for a text, around which the tokenizer may put tokens; False for a part of one.

        Returns
        -------
        list of int
            Its tokens.

        Raises
        ------
        Usage
            If the model has not so many tokens.
        """
        tokens = self.tokenizer.encode(string, add_special_tokens=whole).ids
        if tokens and max(tokens) >= self.vocab_size:
            raise Usage(f"the tokenizer gives token {max(tokens)}, but the model has only {self.vocab_size} tokens")
        return tokens

    def begin(self, prompts, *, with_states=False):
        """Get ready to write: after the prompts or, with an encoder, about them.

        Parameters
        ----------
        prompts : list of (list of int)
            The tokens of every prompt.
        with_states : bool, optional
            Whether outputs are logits and hidden states, not logits alone.

        Returns
        -------
        model : refimpl.generation.Model
            The model; if it has an encoder, that has read the prompts.
        token_ids : array of int, shape (n_batch, n_seq)
            What is gone on from.
        mask : array of bool, shape (n_batch, n_seq)
            False for padding.
        """
        like, start = next(iter(self.params.values())), None
        if self.reading.start is None:
            token_ids, mask = pad_left(prompts, like=like)
        else:
            xp = array_namespace(like)
            backwards, seen = pad_left([tokens[::-1] for tokens in prompts], pad_id=self.config.pad_id, like=like)
            source_ids, seen = backwards[:, ::-1], seen[:, ::-1]  # padded on the right, as it was trained
            start = self.reading.start(source_ids, self.params, config=self.config, mask=seen)
            token_ids = xp.asarray([[self._start_id()]] * len(prompts), dtype=xp.int64)
            mask = xp.ones(token_ids.shape, dtype=xp.bool_)
        step = partial(self._step, with_states=with_states)
        return Model(step, self.reading.reorder, start=start, use_cache=self.use_cache), token_ids, mask

    def _start_id(self):
        said = self.generation.said
        start_id = said.get("decoder_start_token_id", said.get("bos_token_id"))
        if start_id is None or not 0 <= start_id < self.vocab_size:
            got = "nothing" if start_id is None else start_id
            raise CheckpointError(f"{self.generation.path}: decoder_start_token_id must be a token, got {got}")
        return start_id

    def _step(self, token_ids, cache, mask, *, with_states):
        states, grown = self.reading.read(token_ids, self.params, cache, config=self.config, mask=mask)
        logits = self.reading.score(states, self.params, self.config)
        return (logits, states) if with_states else logits, grown


def load_writer(folder, *, dtype=None, backend_name="numpy", use_cache=True):
    """Load a model and its tokenizer.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder as Hugging Face writes it.
    dtype : {"float32", "float64"}, optional
        What it computes in; by default what its weights are stored in.
    backend_name : {"numpy", "cupy"}, optional
        Where it computes.
    use_cache : bool, optional
        Whether it remembers keys and values.

    Returns
    -------
    Writer
        The model.

    Raises
    ------
    CheckpointError
        If the folder is refused, or its model does not write.
    """
    checkpoint = load_folder(folder)
    if type(checkpoint.config) not in READINGS or "classifier.weight" in checkpoint.params:
        raise CheckpointError(f"{folder}: expected a model that writes text, "
                              f"got {checkpoint.settings.get('architectures') or checkpoint.model_type}")  # fmt: skip
    reading = READINGS[type(checkpoint.config)]
    if not reading.remembers_all and not use_cache:
        raise Usage(f"--no-cache is not for {checkpoint.model_type}: its memory is a part of the model")
    tokenizer = load_tokenizer(folder, ends=BART_ENDS if checkpoint.model_type == "bart" else ())
    # A tokenizer may have been saved as it last cut and filled a batch; `transformers` undoes that, too.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    params = {key: asarray(x, dtype=dtype or x.dtype, backend_name=backend_name)
              for key, x in checkpoint.params.items()}  # fmt: skip
    generation = read_generation(folder, checkpoint.settings)
    return Writer(params, checkpoint.config, reading, tokenizer, generation, use_cache)
