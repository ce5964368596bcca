"""Einstein sums of shape-only arrays, two operands at a time."""

import math
import string

import numpy as np

from compare.interpretations.cost import dtype_of, made


def contract(spec, operands):
    """Contract operands pairwise, in the order that `numpy.einsum_path` finds.

    A pair costs one multiplication for every combination of its letters, and one addition if a letter is
    summed over; the intermediate results of three operands are buffers like any other.

    Parameters
    ----------
    spec : str
        Such as ``"...qd,...kd->...qk"``.
    operands : sequence of Shaped
        The arrays.

    Returns
    -------
    Shaped
        The result.

    Raises
    ------
    ValueError
        If a letter stands for two lengths, or the spec does not fit the operands.
    """
    inputs, output = _explicit(spec, operands)
    sizes = _sizes(inputs, operands)
    terms = list(zip(inputs, operands, strict=True))
    for group in _path(inputs, output, operands):
        pair = [terms.pop(i) for i in sorted(group, reverse=True)][::-1]
        later = set(output).union(*(letters for letters, _ in terms))
        letters = output if not terms else "".join(sorted(set("".join(x for x, _ in pair)) & later))
        terms.append((letters, _pair(letters, pair, sizes)))
    return terms[0][1]


def _explicit(spec, operands):
    # "..." becomes capital letters that are aligned at the right, as axes broadcast.
    inputs, output = spec.split("->")
    inputs = inputs.split(",")
    free = [letter for letter in string.ascii_uppercase if letter not in spec]
    n_hidden = [x.ndim - len(term.replace("...", "")) for term, x in zip(inputs, operands, strict=True)]
    hidden = free[: max(n_hidden)]
    shown = ["".join(hidden[len(hidden) - n :]) for n in n_hidden]
    inputs = [term.replace("...", letters) for term, letters in zip(inputs, shown, strict=True)]
    return inputs, output.replace("...", "".join(hidden))


def _sizes(inputs, operands):
    sizes = {}
    for term, x in zip(inputs, operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise ValueError(f"expected one length for letter {letter}, got {sizes[letter]} and {size}")
            sizes[letter] = size if sizes[letter] == 1 else sizes[letter]
    return sizes


def _path(inputs, output, operands):
    if len(operands) < 3:
        return [tuple(range(len(operands)))]
    spec = f"{','.join(inputs)}->{output}"
    return np.einsum_path(spec, *(x.layout for x in operands), optimize="greedy")[0][1:]


def _pair(letters, pair, sizes):
    n_product = math.prod(sizes[letter] for letter in set("".join(term for term, _ in pair)))
    shape = tuple(sizes[letter] for letter in letters)
    n_sum = math.prod(shape)
    arrays = [x for _, x in pair]
    multiplications = (len(pair) - 1) * n_product
    additions = n_product if n_product > n_sum else 0
    dtype = dtype_of(np.matmul, *arrays) if len(arrays) == 2 else arrays[0].dtype
    return made("einsum", shape, dtype, *arrays, flops=multiplications + additions)
