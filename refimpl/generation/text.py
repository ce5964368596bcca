"""What has been written so far, row by row."""

from dataclasses import dataclass, replace
from typing import Any

from refimpl.arrays import array_namespace, backend, check_boolean, check_setting, check_shape


@dataclass(frozen=True)
class Text:
    """A batch of texts that grow; a value, so that what was yielded earlier stays as it was.

    Attributes
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, padded on the left, and what was written after them.
    mask : array of bool, shape (n_batch, n_seq)
        True where there is a token; False for the padding before a prompt and behind a text that has ended.
    is_done : array of bool, shape (n_batch,)
        True for the rows that have ended.
    n_prompt : int
        Width of the prompts, padding included.
    """

    token_ids: Any
    mask: Any
    is_done: Any
    n_prompt: int

    @property
    def n_new(self):
        """Count the tokens that were written.

        Returns
        -------
        int
            How many, padding of rows that ended earlier included.
        """
        return self.token_ids.shape[1] - self.n_prompt

    def written(self):
        """List what was written.

        Returns
        -------
        list of (list of int)
            For every row its new tokens, without the prompt and without padding.
        """
        new, real = (x[:, self.n_prompt :].tolist() for x in (self.token_ids, self.mask))
        return [[token for token, there in zip(*row, strict=True) if there] for row in zip(new, real, strict=True)]

    def followed_by(self, tokens):
        """Append one token to every row that has not ended.

        Parameters
        ----------
        tokens : array of int, shape (n_batch,)
            The tokens; what stands in a row that has ended is padding, whatever it is.

        Returns
        -------
        Text
            The longer texts.
        """
        xp = array_namespace(self.token_ids, tokens)
        return replace(
            self,
            token_ids=xp.concatenate([self.token_ids, tokens[:, None]], axis=1),
            mask=xp.concatenate([self.mask, ~self.is_done[:, None]], axis=1),
        )

    def rows(self, rows):
        """Take some of the texts, in any order and as often as asked.

        Parameters
        ----------
        rows : array of int, shape (n_rows,)
            Which.

        Returns
        -------
        Text
            Of n_rows texts.
        """
        return replace(self, token_ids=self.token_ids[rows], mask=self.mask[rows], is_done=self.is_done[rows])


def prompt(token_ids, mask=None):
    """Take prompts as texts to which nothing was added yet.

    Parameters
    ----------
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts.
    mask : array of bool, shape (n_batch, n_seq), optional
        False for padding, which stands on the left: the next token must follow the last column in every row.

    Returns
    -------
    Text
        The prompts.

    Raises
    ------
    ValueError
        If a prompt is empty, or padded anywhere but on the left.
    TypeError
        If the tokens are not integers or the mask not boolean.
    """
    xp = array_namespace(token_ids, mask)
    check_shape("token_ids", token_ids, (None, None))
    if token_ids.dtype.kind not in "iu":
        raise TypeError(f"token_ids must be an integer array, got dtype {token_ids.dtype}")
    check_setting("token_ids", token_ids.shape, 0 not in token_ids.shape, "prompts of one token at least")
    if mask is None:
        mask = xp.ones(token_ids.shape, dtype=xp.bool_)
    check_boolean(mask=mask)
    check_shape("mask", mask, token_ids.shape)
    on_the_left = bool(xp.all(mask[:, 1:] | ~mask[:, :-1])) and bool(xp.all(mask[:, -1]))
    check_setting("mask", mask.tolist() if not on_the_left else "", on_the_left, "padding on the left only")
    is_done = xp.zeros((token_ids.shape[0],), dtype=xp.bool_)
    return Text(token_ids, mask, is_done, token_ids.shape[1])


def pad_left(prompts, *, pad_id=0, like=None):
    """Make one batch of prompts of different lengths.

    Parameters
    ----------
    prompts : sequence of (sequence of int)
        The tokens of every prompt.
    pad_id : int, optional
        What stands before the shorter ones; no model may care.
    like : array, optional
        An array of the library (and on the device) where the batch shall be; by default NumPy.

    Returns
    -------
    token_ids : array of int, shape (n_batch, n_seq)
        The prompts, aligned on the right.
    mask : array of bool, shape (n_batch, n_seq)
        False for padding.

    Raises
    ------
    ValueError
        If a prompt is empty.
    """
    prompts = [list(tokens) for tokens in prompts]
    check_setting("prompts", prompts, all(prompts) and prompts, "one at least, and none of them empty")
    n_seq = max(map(len, prompts))
    token_ids = [[pad_id] * (n_seq - len(tokens)) + tokens for tokens in prompts]
    mask = [[False] * (n_seq - len(tokens)) + [True] * len(tokens) for tokens in prompts]
    xp = backend("numpy") if like is None else array_namespace(like)
    return xp.asarray(token_ids, dtype=xp.int64), xp.asarray(mask, dtype=xp.bool_)
