"""From measured rounds to cells with a ratio, its interval and the floor."""

import dataclasses
import math
import statistics

# Student's t, 97.5 %, by degrees of freedom from 1 on.
T_975 = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14,
         2.13, 2.12, 2.11, 2.10, 2.09, 2.09]


@dataclasses.dataclass
class Cell:
    """A collective of one size. Times in microseconds, ratios best peer / ours."""
    ranks: int
    layout: str
    collective: str
    bytes: int
    memory: str = "malloc"  # ours
    ours: float = 0.0
    peers: dict = dataclasses.field(default_factory=dict)  # (library, packed) -> us
    best: str = ""  # the peer, its settings and way
    ratio: float = 0.0  # median over the rounds
    low: float = 0.0  # 95 % interval; equal to the ratio with one round
    high: float = 0.0
    rounds: int = 0
    floor: float = 0.0
    way: str = ""  # that the floor was reached by
    block: int = 0  # bytes of a run of the layout, on average; 0: not known
    wins: bool = dataclasses.field(default=False)


def job_key(item):
    """What the cells of one job have in common; of a cell or of a job."""
    return item.ranks, item.layout, item.collective, item.memory


def interval(ratios):
    """The 95 % interval of the mean of the logarithms."""
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < 2:
        return ratios[0], ratios[0]
    t = T_975[min(len(logs) - 2, len(T_975) - 1)]
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.fmean(logs)
    return math.exp(mean - half), math.exp(mean + half)


def best_peer(result, size):
    """((library, settings, packed), us) of the fastest peer of a round, or None."""
    times = [(variant, times[size]) for variant, times in result.items()
             if variant[0] != "sglcoll" and size in times]
    return min(times, key=lambda pair: pair[1]) if times else None


def least_floors(measured):
    """{bytes: (us, way, block)}, the fastest of several measurements: other work only delays."""
    floors = {}
    for rows in measured:
        for size, floor in rows.items():
            floors[size] = min(floor, floors.get(size, floor))
    return floors


def cells_of(job, rounds, floors):
    """The cells of one job from its rounds, and {bytes: (us, way, block)} of the floor."""
    ours = ("sglcoll", "defaults", False)
    sizes = sorted({size for result in rounds for size in result.get(ours, {})})
    cells = []
    for size in sizes:
        cell = Cell(job.ranks, job.layout, job.collective, size, job.memory)
        here = [result for result in rounds if size in result.get(ours, {})]
        cell.ours = statistics.median(result[ours][size] for result in here)
        for library in ("ompi", "mpich"):
            for packed in (False, True):
                times = [min(ways) for result in here
                         if (ways := [times[size] for (name, _, by_hand), times in result.items()
                                      if name == library and by_hand == packed and size in times])]
                if times:
                    cell.peers[library, packed] = statistics.median(times)
        peers = [(result, best) for result in here if (best := best_peer(result, size))]
        if peers:
            ratios = [best[1] / result[ours][size] for result, best in peers]
            cell.ratio = statistics.median(ratios)
            cell.low, cell.high = interval(ratios)
            cell.rounds = len(ratios)
            name, settings, packed = statistics.mode(best[0] for _, best in peers)
            cell.best = f"{name}, {settings}{', packed' if packed else ''}"
            cell.wins = cell.ratio >= 1
        if size in floors:
            cell.floor, cell.way, cell.block = floors[size]
        cells.append(cell)
    return cells


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else 0.0
