"""The Merkle tree of RFC 6962, section 2.1 (the same as RFC 9162), over SHA-256.

    leaf hash = SHA-256(0x00 || leaf)      node hash = SHA-256(0x01 || left || right)

All hashes are 32 raw bytes. A tree is built level by level: an unpaired last node moves up as it
is, which gives the RFC's split at the largest power of two below the size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _above(level: Sequence[bytes]) -> list[bytes]:
    pairs = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
    return [*pairs, level[-1]] if len(level) % 2 else pairs


def root(leaf_hashes: Sequence[bytes]) -> bytes:
    """The tree head; of no leaves, the SHA-256 of nothing."""
    if not leaf_hashes:
        return EMPTY_ROOT
    level: Sequence[bytes] = leaf_hashes
    while len(level) > 1:
        level = _above(level)
    return level[0]


def audit_paths(leaf_hashes: Sequence[bytes]) -> tuple[tuple[bytes, ...], ...]:
    """The audit path of every leaf, each from leaf to root: fewer than 2n hashes in all."""
    paths: list[list[bytes]] = [[] for _ in leaf_hashes]
    level: Sequence[bytes] = leaf_hashes
    width = 1  # leaves under one node of this level, at most
    while len(level) > 1:
        for index, path in enumerate(paths):
            sibling = (index // width) ^ 1
            if sibling < len(level):
                path.append(level[sibling])
        level = _above(level)
        width *= 2
    return tuple(tuple(path) for path in paths)


def verify(leaf: bytes, index: int, size: int, path: Sequence[bytes], expected_root: bytes) -> bool:
    """Does the leaf hash ``leaf`` stand at ``index`` of the ``size`` leaves under the root?
    The algorithm of RFC 9162, section 2.1.3.2. Never raises on bad input."""
    if not 0 <= index < size or len(leaf) != HASH_BYTES:
        return False
    node, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0 or len(sibling) != HASH_BYTES:
            return False
        if node & 1 or node == last:
            found = node_hash(sibling, found)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            found = node_hash(found, sibling)
        node >>= 1
        last >>= 1
    return last == 0 and found == expected_root
