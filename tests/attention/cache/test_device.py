"""The caches keep a device's rules: what is remembered never leaves it, and no host array meets it."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from compare.interpretations import strict_device
from refimpl.attention.cache import key_value, paged
from refimpl.attention.grouped.layer import grouped_query_decode
from refimpl.positions.rotary import rotary
from tests.attention.cache.machine import N_HEAD, N_KV_HEAD, PARAMS

GENERATOR = np.random.default_rng(5)
K, V = GENERATOR.standard_normal((2, 2, 3, 2)), GENERATOR.standard_normal((2, 2, 3, 3))
X = GENERATOR.standard_normal((2, 3, 5))
IS_TOKEN = np.array([[True, False, True], [True, True, True]])


def dense_history(lift, **settings):
    k, v, is_token = lift(K), lift(V), lift(IS_TOKEN)
    past = key_value.empty_cache(2, 2, 2, like=k, d_value=3, **settings)
    past = key_value.append(key_value.append(past, k, v, is_token=is_token), k, v)
    past = key_value.rewind(past, lift(np.array([1, 2])))
    past = key_value.fork(key_value.rewind(key_value.reorder(past, lift(np.array([1, 0]))), 1), 2)
    return [past, key_value.cache_mask(past, past.positions), key_value.cache_places(past)]


def paged_history(lift):
    k, v, is_token = lift(K), lift(V), lift(IS_TOKEN)
    pages = paged.empty_pages(2, 2, 2, like=k, d_value=3, n_slot=2)
    pages = paged.append_pages(paged.append_pages(pages, k, v, is_token=is_token), k, v)
    pages = paged.rewind_pages(pages, lift(np.array([1, 2])))
    pages = paged.fork_pages(paged.reorder_pages(pages, lift(np.array([1, 0]))), 2)
    return [paged.gather_pages(pages)]


def decoded(lift):
    params = {key: lift(value) for key, value in PARAMS.items()}
    past = key_value.empty_cache(2, N_KV_HEAD, 2, like=lift(X), window=2)
    sizes = {"n_head": N_HEAD, "n_kv_head": N_KV_HEAD, "rotate": rotary}
    y, past = grouped_query_decode(lift(X), params, past, is_token=lift(IS_TOKEN), **sizes)
    z, past = grouped_query_decode(lift(X), params, past, **sizes)
    return [y, z, past]


def arrays_in(parts):
    for part in parts:
        if is_dataclass(part):
            yield from (
                getattr(part, field.name) for field in fields(part) if field.name in ("k", "v", "positions", "n_seen")
            )
        else:
            yield part


HISTORIES = {
    "dense": dense_history,
    "windowed": lambda lift: dense_history(lift, window=4, n_sink=1),
    "paged": paged_history,
    "decoded": decoded,
}


@pytest.mark.parametrize("history", HISTORIES)
def test_a_strict_device_remembers_what_numpy_remembers(history):
    on_host, on_device = (arrays_in(HISTORIES[history](lift)) for lift in (np.asarray, strict_device.asarray))
    for host, device in zip(on_host, on_device, strict=True):
        np.testing.assert_array_equal(strict_device.asnumpy(device), host)


def test_a_host_array_is_refused():
    past = key_value.empty_cache(2, 2, 2, like=strict_device.asarray(K), d_value=3)
    with pytest.raises(TypeError, match="one library"):
        key_value.append(past, K, V)
    with pytest.raises(TypeError, match="one library"):
        key_value.reorder(past, np.array([0]))
