"""Imported once in the fork server, so that a child process starts in milliseconds instead of seconds."""

import gc
from contextlib import suppress

import autograd  # noqa: F401
import torch.fx.experimental.symbolic_shapes  # the first call of `torch.autograd.grad` would import it  # noqa: F401

import compare.interpretations.cost_words
import compare.interpretations.spread_words
import compare.measure.bench
import compare.measure.memory
import compare.peers.autograd_peer
import compare.peers.complex_step
import compare.peers.torch_peer
import compare.run.jobs
import compare.run.row
import compare.run.subjects  # noqa: F401
from compare.cases.registry import all_cases

# A case that cannot be imported must not end the fork server; whoever asks for the cases is told.
with suppress(Exception):
    all_cases()

# Collections in a child then leave these objects alone, and with them the pages that it shares with its parent.
gc.collect()
gc.freeze()
