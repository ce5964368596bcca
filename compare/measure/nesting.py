"""Arrays inside nested containers: find them, change them, fingerprint them."""

import dataclasses
import hashlib
import sys
import zlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import numpy as np


def is_array(value: object) -> bool:
    """Tell whether a value is an array of NumPy, PyTorch or CuPy.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        True for arrays and tensors, 0-d ones included.
    """
    kinds = [np.ndarray, np.generic]
    if "torch" in sys.modules:
        kinds.append(sys.modules["torch"].Tensor)
    if "cupy" in sys.modules:
        kinds.append(sys.modules["cupy"].ndarray)
    return isinstance(value, tuple(kinds))


def _children(value):
    """Return the parts of a container as (key, part), or None when it is not one we know."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, SimpleNamespace):
        return list(vars(value).items())
    return None


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Walk through nested containers down to what is not a container.

    Parameters
    ----------
    value : object
        Mappings, lists, tuples, dataclasses and simple namespaces are entered.
    path : str
        Where `value` stands, for the paths of its leaves.

    Yields
    ------
    path : str
        For instance ``/gradients/weight``.
    leaf : object
        An array, or anything else that is not entered.
    """
    children = _children(value)
    if children is None:
        yield path, value
        return
    for key, part in children:
        yield from leaves(part, f"{path}/{key}")


def altered(value: object) -> object:
    """Copy nested inputs with every other entry of every floating array multiplied by 0.5, which is exact.

    The copy is a second set of inputs, legal wherever the first was, on which an honest program gives a
    different result and one that remembers its last result does not.  (All entries halved would mean nothing
    to a program that normalises its input.)

    Parameters
    ----------
    value : object
        Dicts, lists, tuples, dataclasses and simple namespaces are rebuilt; whatever else is no floating
        array is passed on as it is.

    Returns
    -------
    object
        The same structure. Tensors keep `requires_grad` and become leaves.
    """
    if is_array(value):
        return _half_altered(value)
    if type(value) is dict:
        return {key: altered(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(altered, value))
    if type(value) in (list, tuple):
        return type(value)(map(altered, value))
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{key: altered(part) for key, part in vars(value).items()})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        settable = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(value, **{name: altered(getattr(value, name)) for name in settable})
    return value


def _half_altered(array):
    if hasattr(array, "requires_grad"):
        if not (array.is_floating_point() or array.is_complex()):
            return array
        return _every_other_halved(array.detach().clone()).requires_grad_(array.requires_grad)
    # The 16-bit floats of ml_dtypes have kind "V" and a name of their own.
    if array.dtype.kind not in "fc" and "float" not in array.dtype.name:
        return array
    return _every_other_halved(array.copy())


def _every_other_halved(copy):
    if copy.ndim == 0:
        return copy * 0.5
    copy[..., ::2] = copy[..., ::2] * 0.5
    return copy


def fingerprint(outputs: object) -> str:
    """Digest the structure, shapes, dtypes and bits of nested outputs.

    Parameters
    ----------
    outputs : object
        Arrays, None and plain numbers in nested containers.

    Returns
    -------
    str
        Equal for two outputs that agree bit for bit.

    Raises
    ------
    TypeError
        When something in it is no array, number or None, so that its content cannot be compared.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path, leaf in leaves(outputs):
        digest.update(path.encode() + b"\0")
        if is_array(leaf):
            host = _on_host(leaf)
            digest.update(f"{leaf.dtype} {tuple(leaf.shape)}".encode())
            # Outputs are many megabytes, and this runs beside what is timed: a CRC is five times as quick as a
            # cryptographic digest, sees any burst of 32 bits, and misses other accidents once in 2**32.
            digest.update(zlib.crc32(np.ascontiguousarray(host).reshape(-1).view(np.uint8)).to_bytes(4))
        elif leaf is None or isinstance(leaf, bool | int | float | complex | str):
            digest.update(repr(leaf).encode())
        else:
            found = f"{type(leaf).__name__} at {path or '/'}"
            raise TypeError(f"step must return arrays, numbers or None, got {found}")
    return digest.hexdigest()


def _on_host(array):
    """Return a NumPy array whose bytes are all value."""
    if hasattr(array, "requires_grad"):
        torch = sys.modules["torch"]
        return array.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    host = np.asarray(array.get() if hasattr(array, "get") else array)
    if host.dtype.char == "g":  # longdouble has padding bytes of arbitrary content
        with np.errstate(invalid="ignore"):
            high = host.astype(np.float64)
            return np.stack([high, (host - high).astype(np.float64)])
    return host
