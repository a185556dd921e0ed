"""Which versions an index was built of, in one digest.

LtHash with 1,024 sums of 16 bits: each version is expanded to 2,048 bytes by SHAKE-128 and added
up, so that the order in which the versions are read says nothing, and a sum can be taken up again
where it was left. Source: Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing"
(1997), and Lewi et al., "Securing Update Propagation with Homomorphic Hashing" (2019).
"""

from __future__ import annotations

import hashlib

import numpy as np

from custody.domain.provenance.canonical import canonical_json

_BYTES = 2_048
_SUMS = np.dtype("<u2")


def added(total: bytes, document_id: str, version: int, chunk_root: str) -> bytes:
    """``total`` empty: the sum of nothing. Each version is to be added once."""
    line = canonical_json([document_id, version, chunk_root])
    own = np.frombuffer(hashlib.shake_128(line).digest(_BYTES), dtype=_SUMS)
    if not total:
        return own.tobytes()
    return (np.frombuffer(total, dtype=_SUMS) + own).tobytes()


def digest(total: bytes) -> str:
    """Hex SHA-256 of the sum."""
    return hashlib.sha256(total or bytes(_BYTES)).hexdigest()
