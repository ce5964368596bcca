"""Rotary positions once more: pair by pair, as complex numbers."""

import cmath

import numpy as np


def turned(x, d_rotary, layout, *, offset=0, base=10000.0):
    """Multiply every pair by exp(i position frequency)."""
    y = x.copy()
    half = d_rotary // 2
    for *row, t in np.ndindex(*x.shape[:-1]):
        for i in range(half):
            first, second = (i, i + half) if layout == "half" else (2 * i, 2 * i + 1)
            point = complex(x[(*row, t, first)], x[(*row, t, second)])
            moved = point * cmath.exp(1j * (t + offset) * base ** (-2 * i / d_rotary))
            y[(*row, t, first)], y[(*row, t, second)] = moved.real, moved.imag
    return y
