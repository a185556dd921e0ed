"""BM25 as Lucene computes it, to the bit, so that both indexes rank alike.

Robertson et al., "Okapi at TREC-3" (1994): idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl))
with idf = ln(1 + (N - df + 0.5) / (df + 0.5)), k1 = 1.2 and b = 0.75. Lucene works in single
precision and keeps a document's length in one byte: exact below 40, then with three significant
bits.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

type Floats = npt.NDArray[np.float32]
type Integers = npt.NDArray[np.int64]

K1 = np.float32(1.2)
B = np.float32(0.75)
_ONE = np.float32(1.0)


def _decoded(code: int) -> int:
    """The length that byte ``code`` stands for."""
    if code < 24:
        return code
    code -= 24
    shift = (code >> 3) - 1
    return 24 + (code & 7 if shift < 0 else ((code & 7) | 8) << shift)


_LENGTHS = np.array([_decoded(code) for code in range(256)], dtype=np.int64)


def length_norms(lengths: Integers, average: float) -> Floats:
    """1 / (k1 * (1 - b + b * dl / avgdl)) of documents of ``lengths`` terms, shape unchanged."""
    codes = np.searchsorted(_LENGTHS, lengths, side="right") - 1
    # The order of operations decides the last bit.
    table = _ONE / (K1 * ((_ONE - B) + B * _LENGTHS.astype(np.float32) / np.float32(average)))
    return np.asarray(table[codes], dtype=np.float32)


def term_weight(*, documents: int, frequency: int, boost: int) -> np.float32:
    """(k1 + 1) * boost * idf of a term that ``frequency`` of ``documents`` hold."""
    idf = np.float32(math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)))
    return np.float32(np.float32(boost) * (K1 + _ONE) * idf)


def term_scores(weight: np.float32, frequencies: Integers, norms: Floats) -> Floats:
    """One term's part of the score of each document; add these up in double precision."""
    scores = weight - weight / (_ONE + frequencies.astype(np.float32) * norms)
    return np.asarray(scores, dtype=np.float32)
