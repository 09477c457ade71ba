"""How programs built against this library, Open MPI and MPICH are started."""

import os
import shutil
import signal
import subprocess
import sys


class Library:
    """One library and the launcher of its jobs."""

    def __init__(self, name, title, launcher):
        self.name = name  # as at the end of a program's name: sglperf-NAME
        self.title = title
        self.launcher = launcher  # the launcher's path, or None where it is missing

    def command(self, ranks, program, arguments, settings=()):
        """The command line that starts `ranks` ranks; settings are NAME=VALUE pairs."""
        raise NotImplementedError

    def missing(self, program):
        """Why the library cannot run `program`, or None."""
        if self.launcher is None or not os.access(self.launcher, os.X_OK):
            return f"{self.title}: its launcher is not installed or not built"
        if not os.access(program, os.X_OK):
            return f"{self.title}: {os.path.basename(program)} is not built"
        return None


class Sglcoll(Library):
    def __init__(self, build):
        super().__init__("sglcoll", "libsglcoll", os.path.join(build, "bin", "sglrun"))

    def command(self, ranks, program, arguments, settings=()):
        exports = [word for setting in settings for word in ("-x", setting)]
        bind = ["--bind-to", "core" if ranks <= len(os.sched_getaffinity(0)) else "none"]
        return [self.launcher, "-n", str(ranks), *bind, *exports, program, *arguments]


class OpenMpi(Library):
    def __init__(self):
        path = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        super().__init__("ompi", "Open MPI", path)

    def command(self, ranks, program, arguments, settings=()):
        # mpirun binds to cores by itself, and only where it knows that ranks share a core
        # do they yield; neither is left to the slots that it counts.
        spare = ranks <= len(os.sched_getaffinity(0))
        words = [self.launcher, "-n", str(ranks), "--oversubscribe",
                 "--bind-to", "core" if spare else "none",
                 "--mca", "mpi_yield_when_idle", "0" if spare else "1"]
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        for setting in settings:
            words += ["--mca", *setting.split("=", 1)]
        return [*words, program, *arguments]


class Mpich(Library):
    def __init__(self):
        super().__init__("mpich", "MPICH", shutil.which("mpiexec.mpich"))

    def command(self, ranks, program, arguments, settings=()):
        bind = ["-bind-to", "core"] if ranks <= len(os.sched_getaffinity(0)) else []
        exports = [word for setting in settings for word in ("-genv", *setting.split("=", 1))]
        return [self.launcher, "-n", str(ranks), *bind, *exports, program, *arguments]


def libraries(build):
    """This library first, then its peers."""
    return [Sglcoll(build), OpenMpi(), Mpich()]


def end_with_jobs():
    """SIGTERM ends this program as Ctrl-C does, so that `run` takes its job along."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def end_job(job):
    """The launcher ends its ranks on SIGTERM; what is left goes with the process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(job.pid, number)
        try:
            return job.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            pass
    return "", ""


def run(command, timeout_s):
    """Runs a job; (status, output, errors), status None if it did not end in time."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as job:
        try:
            output, errors = job.communicate(timeout=timeout_s)
            return job.returncode, output, errors
        except subprocess.TimeoutExpired:
            return (None, *end_job(job))
        except BaseException:
            end_job(job)
            raise
