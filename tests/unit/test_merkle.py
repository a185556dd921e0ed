"""Vectors: the reference tests of Certificate Transparency (google/certificate-transparency,
merkletree/merkle_tree_test.cc), which RFC 6962 implementations share."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.provenance import merkle

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
# (leaf, size) -> audit path
PATHS = {
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
    (0, 1): [],
}
HASHES = [merkle.leaf_hash(leaf) for leaf in LEAVES]


def rfc_6962_root(leaves: list[bytes]) -> bytes:
    """Section 2.1 word for word, by recursion: another way to the same root."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(
        b"\x01" + rfc_6962_root(leaves[:split]) + rfc_6962_root(leaves[split:])
    ).digest()


def test_the_root_of_no_leaves_is_the_hash_of_nothing() -> None:
    assert merkle.root([]).hex() == (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert merkle.audit_paths([]) == ()


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_equal_the_reference_vectors(size: int) -> None:
    assert merkle.root(HASHES[:size]).hex() == ROOTS[size - 1]


@pytest.mark.parametrize(("leaf", "size"), PATHS)
def test_audit_paths_equal_the_reference_vectors(leaf: int, size: int) -> None:
    paths = merkle.audit_paths(HASHES[:size])
    assert [step.hex() for step in paths[leaf]] == PATHS[leaf, size]


@pytest.mark.parametrize("size", [*range(1, 34), 63, 64, 65, 100])
def test_every_leaf_of_every_size_verifies_at_its_own_place_only(size: int) -> None:
    leaves = [merkle.leaf_hash(b"%d" % number) for number in range(size)]
    top = merkle.root(leaves)
    assert top == rfc_6962_root(leaves)
    for index, path in enumerate(merkle.audit_paths(leaves)):
        assert merkle.verify(leaves[index], index, size, path, top)
        assert not merkle.verify(leaves[index], (index + 1) % size, size, path, top) or size == 1


@given(st.data())
def test_a_proof_with_anything_changed_fails(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 40))
    index = data.draw(st.integers(0, size - 1))
    leaves = [merkle.leaf_hash(b"%d" % number) for number in range(size)]
    top, path = merkle.root(leaves), merkle.audit_paths(leaves)[index]
    flip = data.draw(st.integers(0, 255))

    def changed(value: bytes) -> bytes:
        return bytes(
            byte ^ (1 << flip % 8) if at == flip // 8 else byte for at, byte in enumerate(value)
        )

    step = data.draw(st.integers(0, len(path) - 1))
    assert not merkle.verify(changed(leaves[index]), index, size, path, top)
    assert not merkle.verify(leaves[index], index, size, path, changed(top))
    broken = (*path[:step], changed(path[step]), *path[step + 1 :])
    assert not merkle.verify(leaves[index], index, size, broken, top)
    assert not merkle.verify(leaves[index], index, size, path[:-1], top)
    assert not merkle.verify(leaves[index], index, size, (*path, path[0]), top)


def test_a_place_outside_the_tree_or_another_size_fails_though_the_hashes_meet() -> None:
    top = merkle.root(HASHES[:2])
    assert merkle.verify(HASHES[1], 1, 2, [HASHES[0]], top)
    assert not merkle.verify(HASHES[1], 3, 2, [HASHES[0]], top)
    assert not merkle.verify(HASHES[0], 0, 3, [HASHES[1]], top)


def test_a_node_can_not_pose_as_a_leaf() -> None:
    left, right = HASHES[0], HASHES[1]
    assert merkle.leaf_hash(left + right) != merkle.node_hash(left, right)


@pytest.mark.parametrize(
    ("index", "size", "path"),
    [(-1, 2, [HASHES[0]]), (2, 2, [HASHES[0]]), (0, 0, []), (0, 2, [b"short"]), (0, 2, [])],
)
def test_verifying_nonsense_is_false_and_never_raises(
    index: int, size: int, path: list[bytes]
) -> None:
    assert not merkle.verify(HASHES[0], index, size, path, merkle.root(HASHES[:2]))
    assert not merkle.verify(b"", index, size, path, b"")
