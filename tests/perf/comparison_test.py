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
from comparison import ratios, report, run  # noqa: E402

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
        cell, without_peer = ratios.cells_of(JOB, two_rounds(), {8: (0.5, "memcpy")})
        self.assertEqual((cell.bytes, cell.ours, cell.ratio, cell.rounds), (8, 1.5, 3.0, 2))
        self.assertEqual(cell.best, "ompi, defaults, packed")
        self.assertEqual(cell.peers[("mpich", False)], 8.0)
        self.assertEqual(cell.floor, 0.5)
        self.assertEqual((without_peer.rounds, without_peer.peers), (0, {}))

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
