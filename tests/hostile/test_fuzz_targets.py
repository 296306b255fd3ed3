"""Every fuzz target without its engine: seeds, and seeds that are cut, changed or joined."""

import importlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

TARGETS = Path(__file__).parents[2] / "fuzz" / "targets"
NAMES = sorted(path.stem for path in TARGETS.glob("*.py") if "SEEDS =" in path.read_text())
#: Numbers at the edges of what readers count with.
EDGES = [
    b"\xff" * 8,
    b"\x00" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\xff" * 7 + b"\x7f",
    b"9999999999999999999",
    b"-1",
    b"1e999",
    b"NaN",
]


@pytest.fixture(scope="module")
def target(request):
    return importlib.import_module(f"targets.{request.param}")


def damaged(seeds):
    """Copies of seeds with a few changes."""
    place = st.integers(0, 1 << 12)
    change = st.one_of(
        st.tuples(st.just("flip"), place, st.integers(1, 255).map(lambda byte: bytes([byte]))),
        st.tuples(st.just("cut"), place, st.just(b"")),
        st.tuples(st.just("write"), place, st.sampled_from(EDGES) | st.binary(max_size=6)),
        st.tuples(
            st.just("insert"),
            place,
            st.sampled_from(EDGES) | st.sampled_from(seeds).map(lambda seed: seed[-60:]),
        ),
    )
    return st.builds(changed, st.sampled_from(seeds), st.lists(change, min_size=1, max_size=4))


def changed(seed, changes):
    for way, place, piece in changes:
        at = place % (len(seed) + 1)
        if way == "flip":
            seed = seed[:at] + bytes(byte ^ piece[0] for byte in seed[at : at + 1]) + seed[at + 1 :]
        elif way == "cut":
            seed = seed[:at]
        elif way == "write":
            seed = seed[:at] + piece + seed[at + len(piece) :]
        else:
            seed = seed[:at] + piece + seed[at:]
    return seed


def test_there_are_targets_for_every_reader_and_folder():
    assert len(NAMES) >= 16


@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_the_seeds_of_a_target_are_read_or_rejected(target):
    assert len(target.SEEDS) >= 2
    for seed in target.SEEDS:
        target.try_input(seed)


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # numbers that cannot be are carried through, unless a check is asked for
@pytest.mark.parametrize("target", NAMES, indirect=True)
def test_damaged_seeds_of_a_target_are_read_or_rejected(target):
    @settings(max_examples=50)
    @given(damaged(target.SEEDS))
    def try_damaged(data):
        target.try_input(data)

    try_damaged()
