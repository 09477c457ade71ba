"""Runs sglperf over this library and its peers, alternately."""

import dataclasses
import json
import os
import subprocess

from . import launch

COLLECTIVES = ["allgather", "allgatherv", "reduce_scatter_block", "reduce_scatter", "allreduce",
               "reduce", "bcast", "gather", "gatherv", "scatter", "scatterv", "alltoall",
               "alltoallv", "alltoallw", "barrier"]

# Open MPI's and MPICH's settings that were found to help at some size; the defaults are
# always measured too, and the best result of a cell is the peer's.
SETTINGS = {
    "sglcoll": {"defaults": []},
    "ompi": {
        "defaults": [],
        "shared-memory collectives": ["pml=ob1", "btl=self,vader", "coll_sm_priority=90"],
        "larger eager messages": ["pml=ob1", "btl=self,vader", "btl_vader_eager_limit=32768",
                                  "btl_vader_max_send_size=262144"],
    },
    "mpich": {
        "defaults": [],
        "UCX over shared memory only": ["UCX_TLS=self,posix,cma"],
    },
}

JOB_TIMEOUT_S = 180
FLOOR_TIMEOUT_S = 400  # it tries a dozen ways a size


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of sglperf: a row of cells that differ in size."""
    ranks: int
    layout: str
    collective: str
    bytes: str
    memory: str


@dataclasses.dataclass
class Runner:
    build: str
    peers: list
    memory: str = "malloc"
    settings: dict = dataclasses.field(default_factory=lambda: SETTINGS)
    notes: list = dataclasses.field(default_factory=list)  # what could not be measured, and why
    binding: dict = dataclasses.field(default_factory=dict)  # by library and number of ranks

    def program(self, library):
        suffix = "" if library.name == "sglcoll" else f"-{library.name}"
        return os.path.join(self.build, "bin", "sglperf" + suffix)

    def available(self):
        """This library and the wanted peers that are there."""
        there = []
        for library in launch.libraries(self.build):
            if library.name != "sglcoll" and library.name not in self.peers:
                continue
            missing = library.missing(self.program(library))
            if missing:
                self.note(f"skipped: {missing}")
            else:
                there.append(library)
        return there

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def measure(self, job, library, name, packed):
        """{bytes: median in us} of the results that were right."""
        arguments = [job.collective, "--layout", job.layout, "--bytes", job.bytes, "--json",
                     *(["--pack"] if packed else []),
                     *(["--memory", job.memory] if library.name == "sglcoll" else [])]
        command = library.command(job.ranks, self.program(library), arguments,
                                  self.settings[library.name][name])
        status, output, errors = launch.run(command, JOB_TIMEOUT_S)
        what = (f"{library.title} ({name}{', packed' if packed else ''}), {job.collective} of "
                f"{job.ranks} ranks, {job.layout}")
        try:
            document = json.loads(output[output.index("{"):output.rindex("}") + 1])
        except ValueError:
            reason = "no end in time" if status is None else f"status {status}"
            lines = [line for line in errors.splitlines() if line.strip()]
            self.note(f"{what}: {reason}; {lines[0][:120] if lines else 'no message'}")
            return {}
        self.binding[f"{library.title}, {job.ranks} ranks"] = "; ".join(document["binding"])
        wrong = [row["bytes"] for row in document["rows"] if not row["verified"]]
        if wrong:
            self.note(f"{what}: WRONG results from {wrong[0]} bytes on, not counted")
        return {row["bytes"]: row["median_us"] for row in document["rows"] if row["verified"]}

    def variants(self, job, library):
        """(settings' name, packed) that are measured; hand-packing where there are gaps."""
        packs = [False]
        if library.name != "sglcoll" and job.layout != "contig" and job.collective != "barrier":
            packs.append(True)
        return [(name, packed) for name in self.settings[library.name] for packed in packs]

    def round(self, job, libraries, turn):
        """One measurement of each library: {(library, settings, packed): {bytes: us}}. The
        libraries take turns in being first."""
        order = libraries[turn % len(libraries):] + libraries[:turn % len(libraries)]
        return {(library.name, name, packed): self.measure(job, library, name, packed)
                for library in order for name, packed in self.variants(job, library)}

    def floor(self, job):
        """{bytes: (us, way, bytes of a run)}, and the cost of a cache line's way to another
        core."""
        program = os.path.join(self.build, "bin", "sglperf-floor")
        status, output, errors = launch.run(
            [program, job.collective, "--ranks", str(job.ranks), "--layout", job.layout,
             "--bytes", job.bytes, "--memory", job.memory, "--json"], FLOOR_TIMEOUT_S)
        if status != 0:
            reason = "no end in time" if status is None else errors.strip()[:120]
            self.note(f"no floor of {job.collective}, {job.layout}, {job.memory}: {reason}")
            return {}, 0
        document = json.loads(output)
        return ({row["bytes"]: (row["median_us"], way_text(row), row["run_bytes"])
                 for row in document["rows"]}, document["line_transfer_ns"])


def way_text(row):
    """How a row of sglperf-floor got its time."""
    if row["latency_us"] == row["median_us"]:
        lines = row["transfers"]
        return f"{lines} cache line{'' if lines == 1 else 's'}"
    return row["way"] + (f", parts of {row['chunk'] >> 10} KiB" if row["chunk"] else "")


def build_programs(source, build):
    """Configures where that was never done, and builds what is measured."""
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], check=True,
                       stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        rules = file.read()
    targets = ["sglrun", "sglperf", "sglperf-floor"]
    targets += [name for name in ("sglperf-ompi", "sglperf-mpich") if f"bin/{name}" in rules]
    subprocess.run(["cmake", "--build", build, "--target", *targets, "--", "--quiet"], check=True)


def first_line(command, pattern):
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return "unknown"
    for line in output.splitlines():
        if pattern in line:
            return " ".join(line.split(pattern, 1)[1].split()) or "unknown"
    return "unknown"


def describe_machine():
    """What the numbers depend on, as (name, text) pairs."""
    parameters = ["ompi_info", "--all", "--level", "9", "--parsable"]
    components = ", ".join(
        f"{framework} {first_line(parameters, f'mca:{framework}:base:param:{framework}:value:')}"
        .replace("unknown", "chosen at run time") for framework in ("pml", "btl", "coll"))
    load = os.getloadavg()[0]
    return [
        ("processor", first_line(["lscpu"], "Model name:")),
        ("cores used", str(len(os.sched_getaffinity(0)))),
        ("kernel", os.uname().release),
        ("load average at the start", f"{load:.1f}"),
        ("Open MPI", first_line(["ompi_info"], "Open MPI:")),
        ("Open MPI components", components),
        ("Open MPI single copy", first_line(
            parameters, "mca:btl:vader:param:btl_vader_single_copy_mechanism:value:")),
        ("MPICH", first_line(["mpichversion"], "MPICH Version:")),
        ("MPICH device", first_line(["mpichversion"], "MPICH Device:")),
    ]
