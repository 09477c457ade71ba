"""What this library wants to reach, and how far a comparison is from it."""

import dataclasses
from typing import Callable

from . import ratios

NEAR = 0.75  # of the floor: where no copy could be much faster, no peer has to be beaten by more
REDUCTIONS = ("reduce_scatter_block", "reduce_scatter", "allreduce", "reduce")
FROM_BYTES, LONG_BYTES, LONG_BLOCK = 64 << 10, 1 << 20, 4096


def of_floor(cell):
    return cell.floor / cell.ours if cell.floor and cell.ours else None


def against_all(cell):
    return cell.ratio if cell.rounds else None


def against(chosen):
    """The ratio to the fastest of the peers that `chosen(library, packed)` lets through."""
    def ratio(cell):
        times = [us for key, us in cell.peers.items() if chosen(*key)]
        return min(times) / cell.ours if times and cell.ours else None
    return ratio


by_datatype = against(lambda library, packed: not packed)
by_hand = against(lambda library, packed: packed)
open_mpi = against(lambda library, packed: library == "ompi")


@dataclasses.dataclass(frozen=True)
class Aim:
    """Of each cell, or of the geometric mean over the cells that are alike in `grouped`."""
    text: str
    wanted: float
    applies: Callable
    value: Callable = against_all
    grouped: tuple = ()
    crowded: bool = False  # of more ranks than cores, else of no more


def is_contiguous(cell):
    return cell.layout == "contig"


def is_face(cell):
    return cell.layout.startswith("subarray:") and cell.layout.split(":")[1].count("x") == 2


def is_blocks(cell):
    """A derived layout of known blocks, for the aims of no reductions and no faces."""
    return (not is_contiguous(cell) and not is_face(cell) and cell.bytes >= FROM_BYTES
            and cell.collective not in REDUCTIONS and cell.block > 0)


def is_large(cell, memory):
    return is_contiguous(cell) and cell.bytes >= FROM_BYTES and cell.memory == memory


BY_OPERATION = ("ranks", "memory", "collective")

AIMS = [
    Aim("contiguous to 64 KiB, mean of each operation", 2.0,
        lambda cell: is_contiguous(cell) and cell.bytes <= FROM_BYTES, grouped=BY_OPERATION),
    Aim("contiguous 8 bytes, share of the floor", 1 / 1.3,
        lambda cell: is_contiguous(cell) and cell.bytes <= 8, value=of_floor),
    Aim("contiguous from 64 KiB, malloc", 1.2, lambda cell: is_large(cell, "malloc")),
    Aim("contiguous from 64 KiB, alloc", 1.8, lambda cell: is_large(cell, "alloc")),
    Aim("contiguous from 1 MiB, share of the floor", 0.8,
        lambda cell: is_contiguous(cell) and cell.bytes >= LONG_BYTES, value=of_floor),
    Aim("blocks of 4 KiB and more, to datatypes", 1.3,
        lambda cell: is_blocks(cell) and cell.block >= LONG_BLOCK, value=by_datatype),
    Aim("blocks below 4 KiB, to datatypes", 4.0,
        lambda cell: is_blocks(cell) and cell.block < LONG_BLOCK, value=by_datatype),
    Aim("blocks below 4 KiB, to packing by hand", 1.5,
        lambda cell: is_blocks(cell) and cell.block < LONG_BLOCK, value=by_hand),
    Aim("faces, to packing by hand", 1.5,
        lambda cell: is_face(cell) and cell.collective not in REDUCTIONS, value=by_hand),
    Aim("reductions of derived layouts", 3.0,
        lambda cell: not is_contiguous(cell) and cell.collective in REDUCTIONS and
        (is_face(cell) or cell.bytes >= FROM_BYTES)),
    Aim("derived layouts from 64 KiB, mean of each operation", 3.0,
        lambda cell: not is_contiguous(cell) and (is_face(cell) or cell.bytes >= FROM_BYTES) and
        cell.bytes > 0, grouped=BY_OPERATION),
    Aim("more ranks than cores, to Open MPI", 1.0, lambda cell: True, value=open_mpi,
        crowded=True),
    Aim("more ranks than cores, to Open MPI, mean", 1.5, lambda cell: True, value=open_mpi,
        grouped=("ranks", "memory"), crowded=True),
]


@dataclasses.dataclass
class Judged:
    """A cell, or the cells of a mean, against an aim."""
    cells: list
    value: float
    near: float  # how far it is with the target put to NEAR of the floor where that is less
    reached: bool
    floor: float  # share of it, 0: not known


def judge(aim, cells):
    """The target of a cell is the wanted ratio, or NEAR of the floor where that is less."""
    values = [aim.value(cell) for cell in cells]
    floors = [of_floor(cell) or 0.0 for cell in cells]
    value = ratios.geometric_mean(values)
    near = ratios.geometric_mean([max(one / aim.wanted, floor / NEAR)
                                  for one, floor in zip(values, floors)])
    known = [floor for floor in floors if floor]
    return Judged(cells, value, near, value >= aim.wanted, ratios.geometric_mean(known))


def judged(aim, cells, cores):
    """All that the aim is about, each of it judged."""
    there = [cell for cell in cells if (cell.ranks > cores) == aim.crowded and aim.applies(cell)
             and aim.value(cell)]
    if not aim.grouped:
        return [judge(aim, [cell]) for cell in there]
    groups = {}
    for cell in there:
        groups.setdefault(tuple(getattr(cell, name) for name in aim.grouped), []).append(cell)
    return [judge(aim, group) for group in groups.values()]


def results(cells, cores):
    """(aim, what was judged) of the aims that the cells have something of."""
    return [(aim, found) for aim in AIMS if (found := judged(aim, cells, cores))]


def misses(found):
    """(aim, judged) of what reaches neither, the farthest from its target first."""
    missed = [(aim, one) for aim, all_of_it in found for one in all_of_it
              if not one.reached and one.near < 1]
    return sorted(missed, key=lambda pair: pair[1].near)
