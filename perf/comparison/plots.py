"""Plots of a comparison, by gnuplot as SVG."""

import os
import re
import shutil
import subprocess

from .report import groups, size_text

LINES = [("ours", "#0072b2"), ("Open MPI", "#d55e00"), ("MPICH", "#009e73"), ("floor", "#888888")]


def file_name(*parts):
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(str(part) for part in parts)).strip("-") + ".svg"


def series(cell):
    """Microseconds of each line at a cell; None where there is none."""
    def best(library):
        times = [us for (name, _), us in cell.peers.items() if name == library]
        return min(times) if times else None
    return [cell.ours, best("ompi"), best("mpich"), cell.floor or None]


def plot(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def curves(path, title, cells, bandwidth):
    """A small plot for each collective: time, or payload per time, over size."""
    by_collective = {name: rows for (name,), rows in groups(cells, "collective").items()
                     if len(rows) > 1}
    if not by_collective:
        return False
    columns = min(4, len(by_collective))
    rows = -(-len(by_collective) // columns)
    script = [f"set terminal svg size {300 * columns},{240 * rows + 40} font 'sans,10'",
              f"set output '{path}'", "set logscale xy", "set grid", "set format y '%g'",
              f"set multiplot layout {rows},{columns} title '{title}'",
              "set xtics ('8' 8, '1K' 1024, '64K' 65536, '1M' 1048576, '16M' 16777216)"]
    for index, (collective, of_collective) in enumerate(by_collective.items()):
        blocks, uses = [], []
        for number, (name, colour) in enumerate(LINES):
            points = [(cell.bytes, us) for cell in of_collective
                      if (us := series(cell)[number]) is not None and cell.bytes > 0]
            if not points:
                continue
            values = [(size, size / us / 1e3 if bandwidth else us) for size, us in points]
            blocks += [f"$line{index}_{number} << EOD", *[f"{x} {y}" for x, y in values], "EOD"]
            uses.append(f"$line{index}_{number} with linespoints lc rgb '{colour}' pt 7 ps 0.3 "
                        f"title '{name}'")
        script += [f"set title '{collective.replace('_', ' ')}'",
                   "set key left top" if index == 0 else "unset key",
                   f"set ylabel '{'GB/s of a block' if bandwidth else 'us'}'",
                   *blocks, "plot " + ", ".join(uses)]
    plot("\n".join(script) + "\nunset multiplot\n")
    return True


def heat_map(path, title, cells):
    """Ratios, operation over size: blue where we are ahead, red where we are behind."""
    cells = [cell for cell in cells if cell.rounds and cell.bytes > 0]
    names = list(dict.fromkeys(cell.collective for cell in cells))
    sizes = sorted({cell.bytes for cell in cells})
    if len(names) < 2 or len(sizes) < 2:  # gnuplot draws no smaller image
        return False
    points = [f"{sizes.index(cell.bytes)} {names.index(cell.collective)} {cell.ratio:.3f}"
              for cell in cells]
    ticks = ", ".join(f"'{size_text(size)}' {i}" for i, size in enumerate(sizes))
    labels = ", ".join(f"'{name.replace('_', ' ')}' {i}" for i, name in enumerate(names))
    plot("\n".join([
        f"set terminal svg size {200 + 55 * len(sizes)},{110 + 30 * len(names)} font 'sans,10'",
        f"set output '{path}'", f"set title '{title}'", "unset key",
        "$ratios << EOD", *points, "EOD",
        f"set xtics ({ticks}) rotate by 45 right", f"set ytics ({labels})",
        f"set xrange [-0.5:{len(sizes) - 0.5}]", f"set yrange [{len(names) - 0.5}:-0.5]",
        "set cbrange [-2:2]", "set cbtics ('1/4' -2, '1/2' -1, '1' 0, '2' 1, '4' 2)",
        "set palette defined (-2 '#b2182b', 0 '#f7f7f7', 2 '#2166ac')",
        "plot $ratios using 1:2:(log($3)/log(2)) with image pixels, "
        "$ratios using 1:2:(sprintf('%.2f', $3)) with labels font 'sans,9'"]) + "\n")
    return True


def all_plots(cells, folder):
    """Writes the plots; (file name, text) of each."""
    if not shutil.which("gnuplot"):
        print("skipped: no plots, gnuplot is not installed")
        return []
    os.makedirs(folder, exist_ok=True)
    made = []
    for (ranks, layout, memory), part in groups(cells, "ranks", "layout", "memory").items():
        for kind, draw in (
                ("ratio", heat_map),
                ("latency", lambda *which: curves(*which, bandwidth=False)),
                ("bandwidth", lambda *which: curves(*which, bandwidth=True))):
            name = file_name(kind, f"{ranks}-ranks", layout, memory)
            title = f"{kind}, {ranks} ranks, {layout}, our buffers by {memory}"
            title += " (best peer / ours)" if kind == "ratio" else ""
            if draw(os.path.join(folder, name), title.replace("_", " "), part):
                made.append((name, title))
    return made
