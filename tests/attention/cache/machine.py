"""Every history of a cache, against texts that are written out and computed again from the start."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from refimpl.attention.cache import key_value, paged
from refimpl.attention.cache.key_value import KeyValueCache, empty_cache
from refimpl.attention.cache.paged import empty_pages
from refimpl.attention.grouped.layer import grouped_query_decode, grouped_query_self_attention
from refimpl.positions.rotary import rotary
from tests.properties.component import Call, Component
from tests.properties.rounding import assert_close, spread_run

N_HEAD, N_KV_HEAD, D_HEAD, D_VALUE, D_MODEL = 4, 2, 2, 3, 5
WINDOW, N_SINK, N_SLOT = 3, 2, 4
MOST_ROWS, LONGEST = 4, 14
GENERATOR = np.random.default_rng(3)
VOCABULARY = 64
KEYS = GENERATOR.standard_normal((VOCABULARY, N_KV_HEAD, D_HEAD))
VALUES = GENERATOR.standard_normal((VOCABULARY, N_KV_HEAD, D_VALUE))
EMBEDDINGS = GENERATOR.standard_normal((VOCABULARY, D_MODEL))
SHAPES = {
    "q_proj.weight": (N_HEAD * D_HEAD, D_MODEL),
    "k_proj.weight": (N_KV_HEAD * D_HEAD, D_MODEL),
    "v_proj.weight": (N_KV_HEAD * D_HEAD, D_MODEL),
    "o_proj.weight": (D_MODEL, N_HEAD * D_HEAD),
}
PARAMS = {key: GENERATOR.standard_normal(shape) for key, shape in SHAPES.items()}
LAYER = Component(grouped_query_self_attention, None, ("x", "params"))
SIZES = {"n_head": N_HEAD, "n_kv_head": N_KV_HEAD, "rotate": rotary}


@dataclass(frozen=True)
class Verbs:
    """The operations of one kind of cache; wrong ones can be put in their place."""

    append: Any
    rewind: Any
    reorder: Any
    fork: Any
    read: Any
    decode: Any = grouped_query_decode


DENSE = Verbs(key_value.append, key_value.rewind, key_value.reorder, key_value.fork, lambda past: past)
PAGED = Verbs(
    paged.append_pages,
    paged.rewind_pages,
    paged.reorder_pages,
    paged.fork_pages,
    paged.gather_pages,
)


def is_seen(query, key, window):
    """Say whether a position sees another, counted out."""
    behind = window is not None and key <= query - window and key >= N_SINK
    return key <= query and not behind


def whole_text(text, window):
    """Outputs of all positions of a text at once, and how far rounding may take them."""
    n = len(text)
    mask = np.array([[is_seen(i, j, window) for j in range(n)] for i in range(n)])
    call = Call({"x": EMBEDDINGS[text][None]}, PARAMS, {**SIZES, "mask": mask})
    y, _ = LAYER(call)
    sigma = spread_run(LAYER, call)[0]["y"].sigma
    return y[0], sigma[0]


class CacheMachine(RuleBasedStateMachine):
    """Append, fork, reorder, rewind, go back to an earlier cache: caches of given keys, and of a layer."""

    dense, windowed, paged = DENSE, DENSE, PAGED

    @initialize(n_batch=st.integers(1, 3))
    def begin(self, n_batch):
        self.texts = [[] for _ in range(n_batch)]
        self.newest = [0] * n_batch
        self.next_id = 0
        self.saved = None
        given = {"like": KEYS, "d_value": D_VALUE}
        self.given = {
            "dense": empty_cache(n_batch, N_KV_HEAD, D_HEAD, **given),
            "windowed": empty_cache(n_batch, N_KV_HEAD, D_HEAD, window=WINDOW, n_sink=N_SINK, **given),
            "paged": empty_pages(n_batch, N_KV_HEAD, D_HEAD, n_slot=N_SLOT, **given),
        }
        self.layers = {
            "dense": empty_cache(n_batch, N_KV_HEAD, D_HEAD, like=KEYS),
            "windowed": empty_cache(n_batch, N_KV_HEAD, D_HEAD, like=KEYS, window=WINDOW, n_sink=N_SINK),
        }

    @rule(n_new=st.integers(0, 4), seed=st.integers(0, 2**16), all_tokens=st.booleans())
    def append(self, n_new, seed, all_tokens):
        n_batch = len(self.texts)
        room = LONGEST - max(map(len, self.texts))
        n_new = min(n_new, room)
        is_token = (np.random.default_rng(seed).random((n_batch, n_new)) < 0.7) | all_tokens
        ids = (self.next_id + np.arange(n_batch * n_new).reshape(n_batch, n_new)) % VOCABULARY
        self.next_id += n_batch * n_new
        told = {} if all_tokens else {"is_token": is_token}
        # What stands under padding must never matter.
        junk = np.where(is_token, 0.0, np.nan)[:, :, None]
        k, v = (np.moveaxis(table[ids] + junk[..., None], 1, 2) for table in (KEYS, VALUES))
        self.texts = [[*text, *ids[i, is_token[i]].tolist()] for i, text in enumerate(self.texts)]
        self.newest = is_token.sum(axis=1).tolist()
        for name, past in self.given.items():
            self.given[name] = getattr(self, name).append(past, k, v, **told)
        for name, past in self.layers.items():
            decode = getattr(self, name).decode
            y, self.layers[name] = decode(EMBEDDINGS[ids] + junk, PARAMS, past, **SIZES, **told)
            self._compare(y, is_token, WINDOW if name == "windowed" else None)

    def _compare(self, y, is_token, window):
        for i, text in enumerate(self.texts):
            n_new = int(is_token[i].sum())
            np.testing.assert_array_equal(y[i, ~is_token[i]], 0.0)
            if n_new:
                want, sigma = whole_text(text, window)
                assert_close(y[i, is_token[i]], want[-n_new:], sigma[-n_new:], name=f"row {i}")

    @precondition(lambda self: len(self.texts) * 2 <= MOST_ROWS)
    @rule()
    def fork(self):
        self._change("fork", 2)
        self.texts = [list(text) for text in self.texts for _ in range(2)]
        self.newest = [n for n in self.newest for _ in range(2)]

    @rule(data=st.data())
    def reorder(self, data):
        rows = data.draw(st.lists(st.integers(0, len(self.texts) - 1), min_size=1, max_size=MOST_ROWS))
        self._change("reorder", np.array(rows))
        self.texts = [list(self.texts[i]) for i in rows]
        self.newest = [self.newest[i] for i in rows]

    @rule(data=st.data())
    def rewind(self, data):
        """Take back some of what was last appended, of each row or of all alike."""
        counts = [data.draw(st.integers(0, n)) for n in self.newest]
        alike = len(set(counts)) == 1 and data.draw(st.booleans())
        self._change("rewind", counts[0] if alike else np.array(counts))
        self._shorten(counts)

    @rule(data=st.data())
    def rewind_far(self, data):
        """Beyond what was last appended: refused by a window whose older keys are forgotten, else as good."""
        counts = [data.draw(st.integers(0, len(text))) for text in self.texts]
        enough = all(
            self._remembers(i, len(text) - n) for i, (text, n) in enumerate(zip(self.texts, counts, strict=True))
        )
        for caches in (self.given, self.layers):
            if enough:
                continue
            try:
                self.windowed.rewind(caches["windowed"], np.array(counts))
            except ValueError:
                continue
            raise AssertionError("a window was rewound to where it is forgotten")
        if enough:
            self._change("rewind", np.array(counts))
            self._shorten(counts)

    def _remembers(self, row, length):
        """Say whether the windowed cache holds all that the next query at this length would see."""
        held = self._held(self.windowed.read(self.given["windowed"]), row)
        return {p for p in range(length) if is_seen(length, p, WINDOW)} <= held.keys()

    def _shorten(self, counts):
        self.texts = [text[: len(text) - n] for text, n in zip(self.texts, counts, strict=True)]
        self.newest = [max(newest - n, 0) for newest, n in zip(self.newest, counts, strict=True)]

    @rule()
    def save(self):
        self.saved = ([list(text) for text in self.texts], list(self.newest), dict(self.given), dict(self.layers))

    @precondition(lambda self: self.saved is not None)
    @rule()
    def go_back(self):
        """Caches are values: an earlier one still says what it said."""
        texts, newest, given, layers = self.saved
        self.texts, self.newest = [list(text) for text in texts], list(newest)
        self.given, self.layers = dict(given), dict(layers)

    def _change(self, verb, *arguments):
        for caches in (self.given, self.layers):
            for name, past in caches.items():
                caches[name] = getattr(getattr(self, name), verb)(past, *arguments)

    @invariant()
    def remembers_the_texts(self):
        """The caches of now, and those of then: nothing was written into them."""
        if hasattr(self, "texts"):
            self._check_contents(self.texts, self.given)
        if getattr(self, "saved", None) is not None:
            texts, _, given, _ = self.saved
            self._check_contents(texts, given)

    def _check_contents(self, texts, given):
        for name, past in given.items():
            read = getattr(self, name).read(past)
            assert isinstance(read, KeyValueCache)
            assert read.n_seen.tolist() == [len(text) for text in texts]
            for row, text in enumerate(texts):
                held = self._held(read, row)
                if name != "windowed":
                    assert list(held) == list(range(len(text)))
                for position, column in held.items():
                    np.testing.assert_array_equal(read.k[row, :, column], KEYS[text[position]])
                    np.testing.assert_array_equal(read.v[row, :, column], VALUES[text[position]])

    @invariant()
    def a_window_is_full_and_bounded(self):
        if not hasattr(self, "texts"):
            return
        for row, text in enumerate(self.texts):
            held = self._held(self.given["windowed"], row)
            assert self._remembers(row, len(text))
            assert len(held) <= N_SINK + WINDOW - 1 + 4

    @invariant()
    def no_array_is_writable_from_outside(self):
        """Freeze whatever is remembered: an operation that writes into it then raises."""
        for caches in (getattr(self, "given", {}), getattr(self, "layers", {})):
            for past in caches.values():
                for x in arrays_of(past):
                    x.flags.writeable = False

    @staticmethod
    def _held(read, row):
        """The column of every position that a row remembers, in order."""
        columns = np.flatnonzero(read.positions[row] >= 0)
        return {int(read.positions[row, column]): int(column) for column in columns}


def arrays_of(past):
    """All arrays in a cache."""
    if isinstance(past, np.ndarray):
        return [past]
    if dataclasses.is_dataclass(past):
        return [x for field in dataclasses.fields(past) for x in arrays_of(getattr(past, field.name))]
    return [x for part in past for x in arrays_of(part)] if isinstance(past, tuple) else []
