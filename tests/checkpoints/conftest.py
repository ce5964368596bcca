"""Files forged byte by byte."""

import json
import struct

import pytest


@pytest.fixture
def forge(tmp_path):
    """Write a safetensors file from any header (bytes, or an object to be JSON) and data; return its path."""

    def write(header, data=b"", *, n_bytes=None, name="forged.safetensors"):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        path = tmp_path / name
        path.write_bytes(struct.pack("<Q", len(text) if n_bytes is None else n_bytes) + text + data)
        return path

    return write
