"""The allocators: sound, in order of need, the optimal one against brute force, the dynamic one on real bytes."""

from __future__ import annotations

import random
from itertools import pairwise
from time import monotonic

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.model import load_model
from mcusim.plan import lifetimes
from mcusim.plan.allocators import MOST_MOVES, BufferMove, Moves, dynamic, linear, moves_at_most, optimal
from mcusim.plan.allocators.exact_search import Limit, fit, set_aside_easy
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, greedy_by_size, live_bytes, plan_arena
from tests.support.cases import few, only_with_all_cases, sample_size
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import shared_model
from tests.support.programs.arenas import MODELS, assert_sound

# What no placement gets down to the peak of live bytes (first number: the optimum, found by brute force)
FRAGMENTED = [
    (5, [(3, 0, 0), (1, 0, 2), (2, 1, 1), (1, 1, 4), (1, 2, 2), (1, 2, 6), (2, 3, 4), (3, 5, 6)]),
    (5, [(2, 0, 0), (2, 0, 1), (1, 1, 2), (1, 1, 5), (1, 2, 2), (1, 2, 5), (2, 4, 6), (2, 6, 7)]),
    (7, [(2, 0, 0), (2, 0, 1), (2, 0, 5), (1, 1, 2), (1, 1, 4), (1, 2, 2), (1, 2, 4), (2, 3, 5), (2, 5, 5)]),
    (7, [(3, 0, 1), (3, 0, 2), (2, 2, 3), (1, 2, 4), (2, 3, 3), (1, 3, 4), (3, 4, 6), (1, 4, 6), (2, 5, 5), (2, 6, 6)]),
    (9, [(4, 0, 1), (3, 0, 2), (1, 0, 3), (3, 2, 2), (1, 2, 4), (4, 3, 3), (2, 3, 5), (2, 4, 4), (3, 4, 6), (3, 5, 5)]),
    (
        10,
        [(3, 0, 0), (4, 0, 1), (2, 0, 2), (1, 1, 1), (2, 1, 3), (2, 2, 2), (3, 2, 7), (3, 3, 5), (3, 4, 7), (2, 6, 7)],
    ),
]
blocks_of_any_kind = st.lists(
    st.builds(
        lambda size, first, length: ArenaBlock(size, first, first + length),
        st.one_of(st.integers(0, 3), st.integers(0, 300)),
        st.integers(0, 12),
        st.integers(0, 6),
    ),
    max_size=16,
)
alignments = st.sampled_from([1, 4, 16, 32])


def blocks_of(rows: list[tuple[int, int, int]]) -> list[ArenaBlock]:
    return [ArenaBlock(*row) for row in rows]


def peak(blocks: list[ArenaBlock], align: int) -> int:
    return max(live_bytes([ArenaBlock(align_up(b.bytes, align), b.first, b.last) for b in blocks]), default=0)


def brute_force(blocks: list[ArenaBlock]) -> int:
    """Smallest arena over all orders of placement, each block at the lowest offset that is free when its turn comes."""
    height = max(live_bytes(blocks))
    while not fits_in_some_order(blocks, height):
        height += 1
    return height


def fits_in_some_order(blocks: list[ArenaBlock], height: int) -> bool:
    """Orders that led to the same offsets so far are followed once."""
    seen: set[tuple[int, ...]] = set()
    ahead = [(-1,) * len(blocks)]
    while ahead:
        at = ahead.pop()
        if -1 not in at:
            return True
        for i in (i for i, offset in enumerate(at) if offset < 0):
            offset = lowest_fit(blocks, at, i)
            after = (*at[:i], offset, *at[i + 1 :])
            if offset + blocks[i].bytes <= height and after not in seen:
                seen.add(after)
                ahead.append(after)
    return False


def lowest_fit(blocks: list[ArenaBlock], at: tuple[int, ...], i: int) -> int:
    """Byte by byte, so that it shares no idea with what it checks."""
    taken = {
        byte
        for b, offset in zip(blocks, at, strict=True)
        if offset >= 0 and b.first <= blocks[i].last and blocks[i].first <= b.last
        for byte in range(offset, offset + b.bytes)
    }
    offset = 0
    while any(byte in taken for byte in range(offset, offset + blocks[i].bytes)):
        offset += 1
    return offset


def random_set(rng: random.Random) -> list[ArenaBlock]:
    """Up to ten blocks: as they come, or cut out of a memory that is full at all times, which is hard to place."""
    if rng.random() < 0.5:
        firsts = [rng.randint(0, 6) for _ in range(rng.randint(1, 10))]
        return [ArenaBlock(rng.randint(1, 12), first, first + rng.randint(0, 4)) for first in firsts]
    while True:
        blocks = full_memory(rng, rng.randint(3, 8), rng.randint(3, 7))
        if len(blocks) <= 10:
            return blocks


def full_memory(rng: random.Random, height: int, steps: int, largest: int = 4) -> list[ArenaBlock]:
    done, live = [], [(height, 0)]
    for step in range(steps):
        dead = [block for block in live if rng.random() < 0.5]
        done += [ArenaBlock(size, first, step - 1) for size, first in dead if first < step]
        live = [block for block in live if block not in dead]
        free = height - sum(size for size, _ in live)
        while free:
            size = min(free, rng.randint(1, largest))
            live.append((size, step))
            free -= size
    return done + [ArenaBlock(size, first, steps - 1) for size, first in live]


def test_linear_reuses_nothing() -> None:
    assert linear([ArenaBlock(20, 0, 0), ArenaBlock(0, 1, 1), ArenaBlock(5, 1, 1), ArenaBlock(16, 2, 2)]) == Arena(
        (0, 32, 32, 48), 64
    )


@given(blocks_of_any_kind, alignments)
@example([], 16)
@example([ArenaBlock(0, 0, 0)], 16)
@example([ArenaBlock(7, 3, 5)], 4)
@settings(max_examples=sample_size(200, 40))
def test_sound_and_in_order_of_need(blocks: list[ArenaBlock], align: int) -> None:
    best = optimal(blocks, align, 0.5)
    arenas = [best.arena, plan_arena(blocks, align), greedy_by_size(blocks, align), linear(blocks, align)]
    for arena in arenas:
        assert_sound(blocks, arena, align)
    needs = [dynamic(blocks, align).bytes, best.bound, *(arena.bytes for arena in arenas)]
    assert needs[0] == peak(blocks, align) and needs == sorted(needs)
    assert best.gap == best.arena.bytes - best.bound


def test_optimal_equals_brute_force_on_500_random_sets() -> None:
    rng = random.Random(20)
    for _ in range(500):
        blocks = random_set(rng)
        best, expected = optimal(blocks, 1, LONGEST_WAIT), brute_force(blocks)
        assert (best.arena.bytes, best.bound) == (expected, expected), blocks
        assert_sound(blocks, best.arena, 1)


def test_the_search_alone_equals_brute_force() -> None:
    """Without a start from :func:`plan_arena`, at the optimum and one byte below it."""
    rng = random.Random(21)
    for _ in range(500):
        blocks = sorted(random_set(rng), key=lambda b: b.first)
        expected = brute_force(blocks)
        found = fit(blocks, expected, Limit(100_000, monotonic() + LONGEST_WAIT))
        assert found.fits
        assert_sound(blocks, Arena(found.offsets, expected), 1)
        assert fit(blocks, expected - 1, Limit(100_000, monotonic() + LONGEST_WAIT)).fits is False


@few(6)
@pytest.mark.parametrize("scale", [1, 48])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("expected", "rows"), FRAGMENTED)
def test_the_bound_is_lifted_where_the_peak_of_live_bytes_cannot_be_had(
    expected: int, rows: list[tuple[int, int, int]], mirrored: bool, scale: int
) -> None:
    blocks = [
        ArenaBlock(b * scale, 9 - last, 9 - first) if mirrored else ArenaBlock(b * scale, first, last)
        for b, first, last in rows
    ]
    best = optimal(blocks, scale if scale > 1 else 1, LONGEST_WAIT)
    assert (best.arena.bytes, best.bound, best.gap) == (expected * scale, expected * scale, 0)
    assert peak(blocks, 1) == (expected - 1) * scale and best.states > 0
    assert brute_force(blocks_of(rows)) == expected


def test_bound_and_arena_meet_between_the_peak_and_the_start() -> None:
    """Nine bytes need both a proof that eight are too few and a better placement than the ten of the start."""
    blocks = blocks_of(FRAGMENTED[4][1])
    best = optimal(blocks, 1, LONGEST_WAIT)
    assert (peak(blocks, 1), best.bound, best.arena.bytes, plan_arena(blocks, 1).bytes) == (8, 9, 9, 10)


def test_easy_blocks_need_no_search() -> None:
    """Four of 1 byte fit anywhere in 8 bytes; three of 3 bytes can be spread so that no gap is left."""
    assert set_aside_easy([ArenaBlock(1, 0, 0)] * 4, 8) == ([], [3, 2, 1, 0])
    assert set_aside_easy([ArenaBlock(3, 0, 1), ArenaBlock(3, 0, 1), ArenaBlock(2, 0, 1)], 8) == ([0, 1, 2], [])


@only_with_all_cases
def test_out_of_time_the_gap_is_told() -> None:
    blocks = full_memory(random.Random(4), 1000, 30, 300)
    best = optimal(blocks, 1, 0.0)
    assert (best.arena.bytes, best.bound, best.states) == (plan_arena(blocks, 1).bytes, 1000, 0)
    assert best.gap > 0
    later = optimal(blocks, 1, 1.0)
    assert later.bound <= later.arena.bytes <= best.arena.bytes and later.states > 0
    assert_sound(blocks, later.arena, 1)


def test_six_hundred_blocks() -> None:
    rng = random.Random(6)
    firsts = [rng.randint(0, 600) for _ in range(600)]
    blocks = [ArenaBlock(rng.randint(1, 50_000), first, first + rng.randint(0, 8)) for first in firsts]
    best = optimal(blocks, 16, LONGEST_WAIT)
    assert best.gap == 0
    assert best.arena.bytes < plan_arena(blocks, 16).bytes
    assert_sound(blocks, best.arena, 16)


def test_the_same_answer_every_time() -> None:
    blocks = [ArenaBlock(b, first, last) for b, first, last in FRAGMENTED[3][1]]
    assert optimal(blocks, 1).arena == optimal(blocks, 1).arena


@pytest.mark.parametrize("name", [*MODELS, "hello_world_int8"])
@pytest.mark.parametrize("reordered", [False, True])
def test_optimal_reaches_the_bound_on_every_model(name: str, reordered: bool) -> None:
    graph = load_model(shared_model(f"{name}.tflite"))
    order = None
    if reordered:
        from mcusim.plan.ordering import optimal_order

        order = optimal_order(graph, LONGEST_WAIT).order
    blocks = [ArenaBlock(life.bytes, life.first, life.last) for life in lifetimes(graph, order)]
    best = optimal(blocks, 16, LONGEST_WAIT)
    assert best.arena.bytes == best.bound == peak(blocks, 16)
    assert_sound(blocks, best.arena, 16)


def test_person_detection_static_and_dynamic() -> None:
    """Liberis & Lane 2019, Table 1, right half: 241 KB when nothing is reclaimed, 55 KB with the dynamic allocator."""
    lives = lifetimes(load_model(shared_model("person_detect.tflite")))
    blocks = [ArenaBlock(life.bytes, life.first, life.last) for life in lives]
    moves = dynamic(blocks)
    assert (linear(blocks).bytes, moves.bytes) == (241_072, 55_296)
    assert (len(moves.moves), moves.moved_bytes) == (29, 213_380)


def test_very_many_moves_are_refused() -> None:
    """A thousand and more blocks that live on while others come and go."""
    blocks = [ArenaBlock(16, i, 2100) for i in range(2000)]
    assert moves_at_most(blocks) > MOST_MOVES
    with pytest.raises(UsageError, match="could make 2,003,000 moves here; it does up to 1,000,000"):
        dynamic(blocks)
    few = [ArenaBlock(16, 0, 2), ArenaBlock(16, 1, 1), ArenaBlock(16, 2, 3)]
    assert len(dynamic(few).moves) <= moves_at_most(few) == 1 + 2 + 2 + 1


def test_dynamic_by_hand() -> None:
    blocks = [
        ArenaBlock(20, 0, 0),
        ArenaBlock(30, 0, 2),
        ArenaBlock(10, 1, 1),
        ArenaBlock(8, 2, 3),
        ArenaBlock(0, 2, 3),
    ]
    places = (((0, 0),), ((0, 32), (1, 0)), ((1, 32),), ((2, 32), (3, 0)), ((2, 48), (3, 16)))
    assert dynamic(blocks) == Moves(places, (BufferMove(0, 1, 32, 0, 30), BufferMove(2, 3, 32, 0, 8)), 64)
    assert [dynamic(blocks).offset(1, step) for step in (0, 1, 2)] == [32, 0, 0]


@given(blocks_of_any_kind, alignments, st.integers(0, 2**32))
@settings(max_examples=sample_size(200, 40))
def test_every_byte_survives_the_moves(blocks: list[ArenaBlock], align: int, seed: int) -> None:
    """A memory of exactly the peak, full of noise; blocks are written at birth and compared at every step they live."""
    moves, rng = dynamic(blocks, align), random.Random(seed)
    memory, content = bytearray(rng.randbytes(moves.bytes)), [rng.randbytes(b.bytes) for b in blocks]
    waiting = list(moves.moves)
    for step in range(max((b.last for b in blocks), default=-1) + 1):
        live = [i for i, b in enumerate(blocks) if b.first <= step <= b.last]
        for i in live:
            offset = moves.offset(i, step)
            assert offset % align == 0 and 0 <= offset <= moves.bytes - blocks[i].bytes
            if blocks[i].first == step:
                memory[offset : offset + blocks[i].bytes] = content[i]
        for i in live:
            assert memory[moves.offset(i, step) :][: blocks[i].bytes] == content[i]
        assert_compact(blocks, moves, live, step, align)
        while waiting and waiting[0].step == step:
            carry_out(memory, waiting.pop(0), blocks, moves)
    assert not waiting


def assert_compact(blocks: list[ArenaBlock], moves: Moves, live: list[int], step: int, align: int) -> None:
    """Nothing is left between live blocks, and those that were there before keep their order."""
    ranges = sorted((moves.offset(i, step), align_up(blocks[i].bytes, align)) for i in live)
    assert not ranges or ranges[0][0] == 0
    assert all(offset + size == following for (offset, size), (following, _) in pairwise(ranges))
    before = [i for i in live if blocks[i].first < step and blocks[i].bytes]
    assert sorted(before, key=lambda i: moves.offset(i, step)) == sorted(
        before, key=lambda i: moves.offset(i, step - 1)
    )


def carry_out(memory: bytearray, move: BufferMove, blocks: list[ArenaBlock], moves: Moves) -> None:
    """The copy itself, lowest byte first; the freed bytes turn into noise."""
    assert move.target < move.source and move.bytes == blocks[move.block].bytes > 0
    assert move.source == moves.offset(move.block, move.step)
    assert move.target == moves.offset(move.block, move.step + 1)
    for k in range(move.bytes):
        memory[move.target + k] = memory[move.source + k]
    for k in range(max(move.source, move.target + move.bytes), move.source + move.bytes):
        memory[k] ^= 0xFF
