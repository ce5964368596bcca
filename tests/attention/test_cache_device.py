"""The caches keep a device's rules: what is remembered never leaves it, and no host array meets it."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from compare.interpretations import strict_device
from refimpl.attention import cache, cache_paged
from refimpl.attention.grouped_query_layer import grouped_query_decode
from refimpl.positions.rotary import rotary
from tests.attention.cache_machine import N_HEAD, N_KV_HEAD, PARAMS

GENERATOR = np.random.default_rng(5)
K, V = GENERATOR.standard_normal((2, 2, 3, 2)), GENERATOR.standard_normal((2, 2, 3, 3))
X = GENERATOR.standard_normal((2, 3, 5))
IS_TOKEN = np.array([[True, False, True], [True, True, True]])


def dense_history(lift, **settings):
    k, v, is_token = lift(K), lift(V), lift(IS_TOKEN)
    past = cache.empty_cache(2, 2, 2, like=k, d_value=3, **settings)
    past = cache.append(cache.append(past, k, v, is_token=is_token), k, v)
    past = cache.rewind(past, lift(np.array([1, 2])))
    past = cache.fork(cache.rewind(cache.reorder(past, lift(np.array([1, 0]))), 1), 2)
    return [past, cache.cache_mask(past, past.positions), cache.cache_places(past)]


def paged_history(lift):
    k, v, is_token = lift(K), lift(V), lift(IS_TOKEN)
    pages = cache_paged.empty_pages(2, 2, 2, like=k, d_value=3, n_slot=2)
    pages = cache_paged.append_pages(cache_paged.append_pages(pages, k, v, is_token=is_token), k, v)
    pages = cache_paged.rewind_pages(pages, lift(np.array([1, 2])))
    pages = cache_paged.fork_pages(cache_paged.reorder_pages(pages, lift(np.array([1, 0]))), 2)
    return [cache_paged.gather_pages(pages)]


def decoded(lift):
    params = {key: lift(value) for key, value in PARAMS.items()}
    past = cache.empty_cache(2, N_KV_HEAD, 2, like=lift(X), window=2)
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
    past = cache.empty_cache(2, 2, 2, like=strict_device.asarray(K), d_value=3)
    with pytest.raises(TypeError, match="one library"):
        cache.append(past, K, V)
    with pytest.raises(TypeError, match="one library"):
        cache.reorder(past, np.array([0]))
