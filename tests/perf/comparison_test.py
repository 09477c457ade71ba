"""What perf/compare and perf/regress make of measured times."""

import importlib.machinery
import importlib.util
import io
import os
import sys
import unittest
from contextlib import redirect_stdout

PERF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf")
sys.path.insert(0, PERF)
sys.dont_write_bytecode = True
from comparison import aims, ratios, report, run  # noqa: E402

OURS = ("sglcoll", "defaults", False)
JOB = run.Job(2, "vector:64:128", "allgather", "8:16", "malloc")


def load_regress():
    loader = importlib.machinery.SourceFileLoader("regress", os.path.join(PERF, "regress"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("regress", loader))
    loader.exec_module(module)
    return module


def two_rounds():
    return [{OURS: {8: 1.0, 16: 2.0}, ("ompi", "defaults", False): {8: 3.0},
             ("ompi", "defaults", True): {8: 2.0}, ("mpich", "tuned", False): {8: 4.0}},
            {OURS: {8: 2.0, 16: 2.0}, ("ompi", "defaults", False): {8: 9.0},
             ("ompi", "defaults", True): {8: 8.0}, ("mpich", "tuned", False): {8: 12.0}}]


class Ratios(unittest.TestCase):
    def test_the_fastest_peer_of_each_round_counts(self):
        cell, without_peer = ratios.cells_of(JOB, two_rounds(), {8: (0.5, "staged", 64)})
        self.assertEqual((cell.bytes, cell.ours, cell.ratio, cell.rounds), (8, 1.5, 3.0, 2))
        self.assertEqual(cell.best, "ompi, defaults, packed")
        self.assertEqual(cell.peers[("mpich", False)], 8.0)
        self.assertEqual((cell.floor, cell.way, cell.block), (0.5, "staged", 64))
        self.assertEqual((without_peer.rounds, without_peer.peers), (0, {}))

    def test_the_fastest_floor_of_the_rounds_counts(self):
        floors = ratios.least_floors([{8: (2.0, "a", 8), 16: (3.0, "a", 8)}, {8: (1.0, "b", 8)},
                                      {8: (1.5, "c", 8)}])
        self.assertEqual(floors, {8: (1.0, "b", 8), 16: (3.0, "a", 8)})

    def test_interval(self):
        self.assertEqual(ratios.interval([2.0]), (2.0, 2.0))
        low, high = ratios.interval([2.0, 2.0, 2.0])
        self.assertAlmostEqual(low, 2.0)
        self.assertAlmostEqual(high, 2.0)
        low, high = ratios.interval([1.0, 2.0, 4.0])  # logs 0, 1, 2 times log 2: s = log 2
        self.assertAlmostEqual(high / low, 2 ** (2 * 4.30 / 3 ** 0.5))
        self.assertAlmostEqual(high * low, 4.0)


class Report(unittest.TestCase):
    def test_json_keeps_the_cells(self):
        cells = ratios.cells_of(JOB, two_rounds(), {})
        text = report.to_json({"notes": ["a note"], "options": {"rounds": 2}}, cells)
        document, read = report.from_json(text)
        self.assertEqual(read, cells)
        self.assertEqual(document["notes"], ["a note"])

    def test_a_section_is_replaced_where_it_was(self):
        first = report.replace_section("# Title\n", "old\n")
        second = report.replace_section(first + "after\n", "new\n")
        self.assertEqual(
            second, f"# Title\n\n{report.BEGIN}\nnew\n{report.END}\nafter\n")

    def test_only_losses_beyond_doubt_are_listed(self):
        doubtful = ratios.Cell(2, "contig", "bcast", 8, ours=2, peers={("ompi", False): 1},
                               ratio=0.5, low=0.2, high=1.2, rounds=3)
        self.assertEqual(len(report.losses([doubtful])), 1)
        doubtful.high = 0.8
        self.assertIn("| bcast | 8 | 2.00 | 1.00 | 0.50 |", report.losses([doubtful])[-1])


def cell_of(layout, collective, size, ours, datatype=0.0, by_hand=0.0, floor=0.0, **more):
    """A cell of Open MPI's two times."""
    peers = {key: us for key, us in ((("ompi", False), datatype), (("ompi", True), by_hand)) if us}
    return ratios.Cell(more.pop("ranks", 2), layout, collective, size, ours=ours, peers=peers,
                       ratio=min(peers.values()) / ours if peers else 0, rounds=len(peers),
                       floor=floor, **more)


class Aims(unittest.TestCase):
    CORES = 2

    def counts(self, cells):
        """{text: (reached, near the floor instead, neither)}, of the aims that judge anything."""
        counted = {}
        for aim, found in aims.results(cells, self.CORES):
            reached = sum(one.reached for one in found)
            near = sum(not one.reached and one.near >= 1 for one in found)
            counted[aim.text] = (reached, near, len(found) - reached - near)
        return counted

    def test_a_ratio_or_the_floor_or_neither(self):
        def large(peer, floor):
            return cell_of("contig", "bcast", 1 << 19, 10.0, datatype=peer, floor=floor)
        cells = [large(12.0, 0), large(11.9, 7.5), large(11.9, 7.4), large(11.9, 0)]
        self.assertEqual(self.counts(cells), {"contiguous from 64 KiB, malloc": (1, 1, 2)})

    def test_shared_memory_has_a_higher_target(self):
        cell = cell_of("contig", "bcast", 1 << 16, 10.0, datatype=17.0, memory="alloc")
        self.assertEqual(self.counts([cell])["contiguous from 64 KiB, alloc"], (0, 0, 1))

    def test_a_mean_is_of_an_operation(self):
        def small(collective, size, ours):
            return cell_of("contig", collective, size, ours, datatype=4.0, floor=1.0)
        cells = [small("bcast", 16, 1.0), small("bcast", 32, 4.0),  # 4 and 1: 2 on average
                 small("gather", 16, 1.0), small("gather", 32, 4.1)]
        self.assertEqual(self.counts(cells), {"contiguous to 64 KiB, mean of each operation":
                                              (1, 0, 1)})
        cells[-2].floor, cells[-1].floor = 1.0, 1.5  # 2 and 0.49 times what either asks for
        self.assertEqual(self.counts(cells)["contiguous to 64 KiB, mean of each operation"],
                         (1, 0, 1))
        cells[-1].floor = 1.6
        self.assertEqual(self.counts(cells)["contiguous to 64 KiB, mean of each operation"],
                         (1, 1, 0))

    def test_long_contiguous_data_is_compared_with_the_floor(self):
        def long(floor):
            return cell_of("contig", "bcast", 1 << 20, 10.0, floor=floor)
        self.assertEqual(self.counts([long(8.0), long(7.6), long(7.0)]),
                         {"contiguous from 1 MiB, share of the floor": (1, 1, 1)})
        self.assertEqual(self.counts([cell_of("contig", "bcast", 8, 1.3, floor=1.0),
                                      cell_of("contig", "bcast", 8, 1.4, floor=1.0)]),
                         {"contiguous 8 bytes, share of the floor": (1, 0, 1)})

    def test_blocks_are_judged_by_their_length(self):
        def derived(block):
            return cell_of("vector:B:S", "bcast", 1 << 16, 1.0, datatype=2.0, by_hand=1.6,
                           block=block)
        slower = derived(4096)
        slower.peers["mpich", False] = 1.1  # the fastest counts
        self.assertEqual(self.counts([slower])["blocks of 4 KiB and more, to datatypes"],
                         (0, 0, 1))
        mean = "derived layouts from 64 KiB, mean of each operation"
        self.assertEqual(self.counts([derived(4096)]), {
            "blocks of 4 KiB and more, to datatypes": (1, 0, 0), mean: (0, 0, 1)})
        self.assertEqual(self.counts([derived(64)]), {
            "blocks below 4 KiB, to datatypes": (0, 0, 1),
            "blocks below 4 KiB, to packing by hand": (1, 0, 0), mean: (0, 0, 1)})

    def test_faces_and_reductions_have_aims_of_their_own(self):
        face = cell_of("subarray:64x64x64:64x64x1:0x0x0:8", "bcast", 1 << 15, 1.0, datatype=9.0,
                       by_hand=1.4, block=8)
        reduction = cell_of("vector:64:128", "reduce", 1 << 16, 1.0, datatype=9.0, by_hand=2.9,
                            block=64)
        counted = self.counts([face, reduction])
        self.assertEqual(counted["faces, to packing by hand"], (0, 0, 1))
        self.assertEqual(counted["reductions of derived layouts"], (0, 0, 1))
        self.assertNotIn("blocks below 4 KiB, to datatypes", counted)

    def test_more_ranks_than_cores_are_judged_apart(self):
        crowded = cell_of("contig", "bcast", 1 << 19, 2.0, datatype=3.0, ranks=4)
        crowded.peers["mpich", False] = 1.0  # never yields, so it is left out
        self.assertEqual(self.counts([crowded]), {
            "more ranks than cores, to Open MPI": (1, 0, 0),
            "more ranks than cores, to Open MPI, mean": (1, 0, 0)})

    def test_the_report_lists_the_farthest(self):
        document = {"machine": [["cores used", "2"]]}
        cells = [cell_of("contig", "bcast", 1 << 19, 10.0, datatype=10.0 + i, floor=5.0,
                         way="staged") for i in (1, 0)]
        rows = report.aims_section(document, cells, most=1)
        self.assertIn("| contiguous from 64 KiB, malloc | 1.20 | 2 | 0 | 0 | 2 |", rows)
        self.assertIn("the farthest 1 of 2", "".join(rows))
        self.assertEqual(rows[-1], "| contiguous from 64 KiB, malloc | 2 | `contig` | malloc "
                         "| bcast | 512K | 10.00 | 5.00 | 0.50 | 1.00 | 1.20 | staged |")


class Floor(unittest.TestCase):
    def test_the_way_is_told(self):
        row = {"latency_us": 0.1, "median_us": 5.0, "transfers": 1, "way": "staged, loops",
               "chunk": 32768}
        self.assertEqual(run.way_text(row), "staged, loops, parts of 32 KiB")
        self.assertEqual(run.way_text({**row, "chunk": 0}), "staged, loops")
        self.assertEqual(run.way_text({**row, "median_us": 0.1}), "1 cache line")


class Regress(unittest.TestCase):
    def failures(self, measured, stored):
        regress = load_regress()
        job = run.Job(2, "contig", "allgather", "8K", "malloc")
        regress.jobs = lambda: [job]
        attempts = iter(measured)
        regress.ratio_of = lambda *_: next(attempts)
        with redirect_stdout(io.StringIO()):
            return regress.compare(None, None, stored, 0.5)

    def test_slower_in_every_attempt_fails(self):
        attempts = load_regress().ATTEMPTS
        for ratio in (0.9, None):
            self.assertEqual(
                len(self.failures([ratio] * attempts, {"allgather contig 8K": 2.0})), 1)

    def test_one_good_attempt_or_a_better_ratio_passes(self):
        self.assertEqual(self.failures([0.9, 1.1], {"allgather contig 8K": 2.0}), [])
        self.assertEqual(self.failures([9.0], {"allgather contig 8K": 2.0}), [])

    def test_a_cell_without_a_stored_ratio_fails(self):
        self.assertIn("--update", self.failures([], {})[0])


if __name__ == "__main__":
    unittest.main()
