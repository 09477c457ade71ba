"""The comparison as a table, as JSON and as a section of a document."""

import dataclasses
import json

from . import aims, ratios

BEGIN = "<!-- perf/compare: begin -->"
END = "<!-- perf/compare: end -->"

COLUMNS = [("ours", None), ("Open MPI", ("ompi", False)), ("  by hand", ("ompi", True)),
           ("MPICH", ("mpich", False)), ("  by hand", ("mpich", True))]


def size_text(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def us_text(us):
    return "-" if not us else f"{us:.2f}" if us < 100 else f"{us:.0f}"


def interval_text(cell):
    if not cell.rounds:
        return "-", ""
    spread = "" if cell.rounds < 2 else f"{cell.low:.2f}-{cell.high:.2f}"
    return f"{cell.ratio:.2f}", spread


def table(cells):
    """Lines of text, a block for each number of ranks, collective and layout."""
    lines, last = [], None
    for cell in cells:
        if ratios.job_key(cell) != last:
            last = ratios.job_key(cell)
            lines += ["", f"{cell.collective}, {cell.ranks} ranks, {cell.layout}, our buffers by "
                          f"{cell.memory}: median us",
                      f"{'bytes':>9}" + "".join(f"{name:>11}" for name, _ in COLUMNS)
                      + f"{'floor':>11}{'ratio':>8}  {'95 %':<13} best peer"]
        times = [cell.ours] + [cell.peers.get(key, 0) for _, key in COLUMNS[1:]]
        ratio, spread = interval_text(cell)
        lines.append(f"{size_text(cell.bytes):>9}" + "".join(f"{us_text(us):>11}" for us in times)
                     + f"{us_text(cell.floor):>11}{ratio:>8}  {spread:<13} {cell.best}")
    return lines


def brief_table(cells):
    """One line a cell, for a few layouts of one size."""
    lines = [f"{'median us':<34}{'bytes':>8}{'ours':>10}{'Open MPI':>10}{'by hand':>10}"
             f"{'floor':>14}"]
    for cell in cells:
        times = [cell.ours, cell.peers.get(("ompi", False), 0), cell.peers.get(("ompi", True), 0)]
        lines.append(f"{cell.layout:<34}{size_text(cell.bytes):>8}"
                     + "".join(f"{us_text(us):>10}" for us in times)
                     + f"{us_text(cell.floor):>14}")
    return lines


def to_json(document, cells):
    rows = []
    for cell in cells:
        row = dataclasses.asdict(cell)
        row["peers"] = [{"library": library, "packed": packed, "us": us}
                        for (library, packed), us in cell.peers.items()]
        rows.append(row)
    return json.dumps({**document, "cells": rows}, indent=1)


def from_json(text):
    document = json.loads(text)
    cells = []
    for row in document.pop("cells"):
        row["peers"] = {(peer["library"], peer["packed"]): peer["us"] for peer in row["peers"]}
        cells.append(ratios.Cell(**row))
    return document, cells


def groups(cells, *names):
    """Cells by the values of these fields, in their first order."""
    result = {}
    for cell in cells:
        result.setdefault(tuple(getattr(cell, name) for name in names), []).append(cell)
    return result


def summary(cells):
    """Rows of Markdown: the ratios of each number of ranks and layout."""
    rows = ["| ranks | layout | memory | cells | geometric mean | least | most | ahead "
            "| of the floor, 1 MiB and more |", "|---:|---|---|---:|---:|---:|---:|---:|---:|"]
    for (ranks, layout, memory), of_layout in groups(cells, "ranks", "layout", "memory").items():
        found = [cell for cell in of_layout if cell.rounds]
        if not found:
            continue
        values = [cell.ratio for cell in found]
        large = [cell.floor / cell.ours for cell in of_layout
                 if cell.bytes >= 1 << 20 and cell.floor]
        near = f"{ratios.geometric_mean(large):.2f}" if large else ""
        rows.append(f"| {ranks} | `{layout}` | {memory} | {len(found)} "
                    f"| {ratios.geometric_mean(values):.2f} | {min(values):.2f} | {max(values):.2f} | "
                    f"{sum(cell.wins for cell in found)} | {near} |")
    return rows


def by_collective(cells):
    """Rows of Markdown: geometric means over the layouts, small and large."""
    rows = ["| ranks | memory | collective | to 64 KiB | least | above | least |",
            "|---:|---|---|---:|---:|---:|---:|"]
    for (ranks, memory, collective), part in groups(cells, "ranks", "memory",
                                                    "collective").items():
        row = f"| {ranks} | {memory} | {collective} |"
        for of_size in ([cell for cell in part if cell.bytes <= 1 << 16],
                        [cell for cell in part if cell.bytes > 1 << 16]):
            values = [cell.ratio for cell in of_size if cell.rounds]
            row += (f" {ratios.geometric_mean(values):.2f} | {min(values):.2f} |" if values
                    else " | |")
        rows.append(row)
    return rows


def losses(cells, most=30):
    """Rows of Markdown: where a peer is ahead beyond doubt, the worst first."""
    lost = sorted((cell for cell in cells if cell.rounds and cell.high < 1),
                  key=lambda cell: cell.ratio)
    if not lost:
        return ["No cell lies below 1 with its whole interval (the ratio itself, of one round)."]
    rows = [f"{len(lost)} cells lie below 1 with their whole interval (the ratio itself, of one round)"
            + (f"; the worst {most}:" if len(lost) > most else ":"), "",
            "| ranks | layout | memory | collective | bytes | ours us | peer us | ratio | 95 % "
            "| peer |", "|---:|---|---|---|---:|---:|---:|---:|---|---|"]
    for cell in lost[:most]:
        ratio, spread = interval_text(cell)
        rows.append(f"| {cell.ranks} | `{cell.layout}` | {cell.memory} | {cell.collective} | "
                    f"{size_text(cell.bytes)} | {us_text(cell.ours)} | "
                    f"{us_text(min(cell.peers.values()))} | {ratio} | {spread} | {cell.best} |")
    return rows


def aims_section(document, cells, most=20):
    """Rows of Markdown: how much of it reaches each aim, and the worst of what does not."""
    cores = int(dict(document["machine"]).get("cores used", 2))
    found = aims.results(cells, cores)
    rows = ["| aim | wanted | of | reach it | within 0.75 of the floor instead | neither |",
            "|---|---:|---:|---:|---:|---:|"]
    for aim, judged in found:
        reached = sum(one.reached for one in judged)
        near = sum(not one.reached and one.near >= 1 for one in judged)
        rows.append(f"| {aim.text} | {aim.wanted:.2f} | {len(judged)} | {reached} | {near} "
                    f"| {len(judged) - reached - near} |")
    missed = aims.misses(found)
    if not missed:
        return rows
    rows += ["", f"What reaches neither" + (f", the farthest {most} of {len(missed)}:"
                                            if len(missed) > most else ":"), "",
             "| aim | ranks | layout | memory | collective | bytes | ours us | floor us | of it "
             "| value | wanted | floor's way |", "|---|---:|---|---|---|---:|---:|---:|---:|---:|---:|---|"]
    for aim, one in missed[:most]:
        rows.append(f"| {aim.text} | {place_text(aim, one.cells)} | {one.floor:.2f} "
                    f"| {one.value:.2f} | {aim.wanted:.2f} "
                    f"| {one.cells[0].way if not aim.grouped else ''} |")
    return rows


def place_text(aim, cells):
    """Ranks, layout, memory, collective, bytes, our time and the floor's of a miss, as columns."""
    first = cells[0]
    if not aim.grouped:
        return (f"{first.ranks} | `{first.layout}` | {first.memory} | {first.collective} "
                f"| {size_text(first.bytes)} | {us_text(first.ours)} | {us_text(first.floor)}")
    collective = first.collective if "collective" in aim.grouped else ""
    return f"{first.ranks} | | {first.memory} | {collective} | {len(cells)} sizes | |"


def section(document, cells, pictures):
    """The generated section of the document, without its markers."""
    more_settings = ("" if "--defaults-only" in document["options"]["command"]
                     else " and with the settings listed in `perf/comparison/run.py`")
    lines = ["## Against Open MPI and MPICH", "",
             "Generated by `perf/compare`; do not edit. The command:", "",
             "```sh", document["options"]["command"], "```", "",
             "A ratio is the best peer's time over ours, the median of the rounds "
             f"({document['options']['rounds']}); the best peer is the fastest of Open MPI "
             "and MPICH, each with its datatypes and packing by hand into buffers allocated "
             f"beforehand, with its defaults{more_settings}. The floor is the best way to move the "
             "bytes in their layout and kind of memory (`sglperf-floor`), the fastest of the "
             f"rounds; a cache line takes {document['line_transfer_ns']:.0f} ns to the other core.",
             ""]
    lines += [f"- {name}: {text}" for name, text in document["machine"]]
    lines += [f"- binding of {name}: {text}" for name, text in
              document["options"]["binding"].items()]
    lines += ["", *summary(cells), "", *by_collective(cells), "", *losses(cells), "",
              *aims_section(document, cells), ""]
    if document["notes"]:
        lines += ["Not measured or not counted:", ""]
        lines += [f"- {note}" for note in document["notes"]] + [""]
    lines += [f"![{text}]({path})" for path, text in pictures]
    return "\n".join(lines).rstrip() + "\n"


def replace_section(text, new):
    """The document with the part between the markers replaced, or appended."""
    if BEGIN not in text or END not in text:
        return f"{text.rstrip()}\n\n{BEGIN}\n{new}{END}\n"
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{new}{END}{rest.split(END, 1)[1]}"
