"""A Ray head of a test's own, with a token and a place for jobs, all of it on the loopback address; ended by its own process ids."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SECONDS = 60.0
OURS = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "7e57" * 16,
    # else Ray takes the machine's outward address wherever it is told the loopback one
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "PYTHONPATH": str(ROOT),
}


class Job(NamedTuple):
    """How a job ended, and its log without what Ray's own client says."""

    code: int
    log: str


class Head(NamedTuple):
    """A running head."""

    pid: int
    address: str
    environment: dict[str, str]
    gcs: str
    """Where drivers join it."""

    def submit(self, *entrypoint: str, wait: bool = True) -> Job:
        """Run `entrypoint` as a job; without `wait` it has only been submitted when this returns."""
        command = [str(BIN / "ray"), "job", "submit", "--address", self.address, *(() if wait else ("--no-wait",)), "--", *entrypoint]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=4 * SECONDS, check=False)
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        return Job(
            done.returncode, "\n".join(line for line in said.splitlines() if not re.match(r"\d{4}-\d\d-\d\d .* -- |Running entry", line))
        )


@contextmanager
def head(folder: Path, port: int | None = None, **environment: str) -> Iterator[Head]:
    """Its own session, its own temporary folder (a short one: sockets lie there), and ports that are free; `port`: where drivers join."""
    temporary, log = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), folder / "head.log"
    ports = free_ports(4)
    joined = port or ports[3]
    told = {**{name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}, **OURS, **environment}
    options = ["--head", "--block", f"--port={joined}", "--num-cpus=2", "--object-store-memory=80000000", "--include-dashboard=true"]
    places = ["--dashboard-host=127.0.0.1", f"--dashboard-port={ports[0]}", f"--dashboard-agent-listen-port={ports[1]}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                str(BIN / "ray"),
                "start",
                *options,
                *places,
                f"--ray-client-server-port={ports[2]}",
                f"--temp-dir={temporary}",
                "--disable-usage-stats",
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=told,
            cwd=folder,
            start_new_session=True,
        )
    try:
        _started(process, log)
        yield Head(process.pid, f"http://127.0.0.1:{ports[0]}", told, f"127.0.0.1:{joined}")
    finally:
        for pid in below(process.pid) | {process.pid}:
            end(pid)
        process.wait(SECONDS)
        shutil.rmtree(temporary, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports that nobody has now, outside of the range that Ray gives its workers."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _started(process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + SECONDS
    while "Ray runtime started" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends, log.read_text()
        time.sleep(0.1)


def below(root: int) -> set[int]:
    """The processes that `root` started, and those that they did."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def running(root: int, *words: str) -> list[int]:
    """The Python processes below `root` whose arguments hold all these words: no shell that only names them."""
    found = []
    for pid in below(root):
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"python" in arguments[0] and all(word.encode() in arguments for word in words):
            found.append(pid)
    return found


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def listening(root: int) -> set[str]:
    """The addresses on which the processes below `root` listen, as the kernel writes them."""
    inodes = {inode for pid in below(root) for inode in _sockets(pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].partition(":")[0])
    return found


def _sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets."""
    found = set()
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            found |= set(re.findall(r"^socket:\[(\d+)\]$", str(link.readlink())))
    except OSError:
        return found
    return found


def end(pid: int) -> None:
    """SIGKILL, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
