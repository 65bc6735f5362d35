#!/usr/bin/env python3
"""Measures windlass-remote beside its peers, all on Redis servers of its own: workloads W20 to W24.

    scripts/remote-bench.py [--rounds 3] [--peers windlass,apalis,...] [--quick] [--folder FOLDER]

Builds the programs in Rust, installs the others (npm, pip) into a temporary folder, starts redis-server on free ports with an append-only
file and an fsync each second, takes turns round by round, prints tables in Markdown, and leaves nothing behind. With --folder the
installations and builds stay in FOLDER for the next run. Peers that cannot be installed are named.
"""
import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/windlass-bench/remote"
TICK = os.sysconf("SC_CLK_TCK")

# How many round trips and how many tasks a sample has, so that each takes a second or two.
SIZES = {"windlass": (1000, 30000), "apalis": (15, 3000), "sidekiq": (1000, 15000), "bullmq": (500, 5000),
         "arq": (100, 1000), "rq": (200, 1000), "celery": (200, 1000)}
NOTES = {
    "windlass": "record, result, push; delivered again after a crash",
    "apalis": "record, result; the client polls every 100 ms",
    "sidekiq": "no record, no result: tasks push to a list that the client pops; a task that is running is lost in a crash",
    "bullmq": "record, result, push by events; one thread; delivered again after a crash",
    "arq": "result; worker and client poll every 5 ms (by default 500 ms); delivered again after a crash",
    "rq": "record, result, push; one task at a time, in the process of the worker",
    "celery": "result, push; 64 threads; a task that is running is lost in a crash",
}


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


class Peers:
    """How to start each peer; those that cannot be installed are in `missing`."""

    def __init__(self, folder, wanted):
        self.commands, self.missing = {}, {}
        for name in wanted:
            try:
                self.commands[name] = getattr(self, "node" if name == "bullmq" else name_kind(name))(folder, name)
            except (OSError, subprocess.CalledProcessError) as error:
                detail = getattr(error, "stderr", "") or str(error)
                self.missing[name] = detail.strip().splitlines()[-1][:200] if detail.strip() else "unknown"

    def rust(self, folder, name):
        environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "rust")}
        run(["cargo", "build", "--release", "--bin", name, "--manifest-path", str(SOURCES / "Cargo.toml")], env=environment)
        return [str(folder / "rust/release" / name)], folder

    def node(self, folder, name):
        place = folder / "node"
        place.mkdir(exist_ok=True)
        if not (place / "node_modules/ioredis").exists():
            run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), "bullmq", "ioredis"])
        shutil.copy(SOURCES / "bullmq.js", place)
        return ["node", str(place / "bullmq.js")], place

    def python(self, folder, name):
        place = folder / name
        if not (place / "bin/python").exists():
            run([sys.executable, "-m", "venv", str(place)])
            run([str(place / "bin/pip"), "install", "--quiet", "celery[redis]" if name == "celery" else name])
        shutil.copy(SOURCES / f"{name}_peer.py", place)
        return [str(place / "bin/python"), f"{name}_peer.py"], place


def name_kind(name):
    return "rust" if name in ("windlass", "apalis", "sidekiq") else "python"


class Server:
    """A redis-server of its own, with its data in a folder that goes with it."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [os.environ.get("WINDLASS_REDIS_SERVER", "redis-server"), "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "yes", "--appendfsync", "everysec", "--dir", self.folder.name], stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.01)
        raise SystemExit("redis-server does not start")

    @property
    def address(self):
        return f"redis://127.0.0.1:{self.port}/"

    def memory(self):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"INFO memory\r\n")
            text = connection.recv(65536).decode()
        return next(int(line.split(":")[1]) for line in text.splitlines() if line.startswith("used_memory:"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Workers:
    """Worker processes of one peer, in groups of their own so that their children end with them."""

    def __init__(self, peer, address, count=1):
        command, place = peer
        self.errors = [tempfile.TemporaryFile("w+", errors="replace") for _ in range(count)]
        self.processes = [
            subprocess.Popen(command + ["worker", address], cwd=place, stdout=subprocess.DEVNULL, stderr=errors,
                             start_new_session=True) for errors in self.errors]

    def check(self):
        """Fails if a worker has ended: what is measured then is not what it should be."""
        for process, errors in zip(self.processes, self.errors):
            if process.poll() is not None:
                errors.seek(0)
                said = errors.read().strip().splitlines() or ["without a word"]
                raise RuntimeError(f"a worker ended ({process.returncode}): {said[-1][:200]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, errors in zip(self.processes, self.errors):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            errors.close()


def processor_time(processes):
    """Seconds of processor time so far, with all threads and ended children."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(fields[at]) for at in range(11, 15))
    return total / TICK


def client(peer, role, address, count, workers, limit=30):
    command, place = peer
    before = os.times()
    try:
        done = subprocess.run(command + [role, address, str(count)], cwd=place, capture_output=True, text=True, timeout=limit)
    finally:
        workers.check()
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or "it failed").splitlines()[-1][:200])
    figures = {key: float(value) for key, value in (line.split() for line in done.stdout.splitlines())}
    return {**figures, "client": spent}


def sample(peer, name, quick):
    """One sample of W20, W21 and W24 of one peer: a server and a worker that are new."""
    trips, tasks = (max(5, size // (10 if quick else 1)) for size in SIZES[name])
    with Server() as server, Workers(peer, server.address) as workers:
        figures = client(peer, "trips", server.address, trips, workers)
        all_of = [server.process], workers.processes
        memory, before = server.memory(), [processor_time(of) for of in all_of]
        done = client(peer, "all", server.address, tasks, workers)
        engine, worker = (processor_time(of) - was for of, was in zip(all_of, before))
        per_task = {"engine": engine, "worker": worker, "client": done["client"]}
        figures.update({part: 1e6 * spent / tasks for part, spent in per_task.items()})
        figures["memory"] = (server.memory() - memory) / tasks
        figures["rate"] = tasks / done["seconds"]
    return figures


def scaling(peer, workers, servers, quick):
    """Tasks a second with so many workers, one client for each server."""
    tasks = 3000 if quick else 20000
    command, place = peer
    open_servers = [Server() for _ in range(servers)]
    groups = [Workers(peer, server.address, workers // servers) for server in open_servers]
    try:
        for server, group in zip(open_servers, groups):
            client(peer, "trips", server.address, 50, group)
        begun = time.monotonic()
        clients = [subprocess.Popen(command + ["all", server.address, str(tasks)], cwd=place, stdout=subprocess.DEVNULL)
                   for server in open_servers]
        if any(process.wait(timeout=60) != 0 for process in clients):
            raise RuntimeError("a client failed")
        for group in groups:
            group.check()
        return servers * tasks / (time.monotonic() - begun)
    finally:
        for group in groups:
            group.__exit__()
        for server in open_servers:
            server.__exit__()


def middle(values, digits=0):
    """The median with the range of all samples."""
    if not values:
        return "-"
    form = f"{{:,.{digits}f}}"
    return f"{form.format(statistics.median(values))} ({form.format(min(values))}–{form.format(max(values))})"


def print_tables(samples, scales, rounds):
    print(f"\nMedian (least–largest) of {rounds} rounds; Redis with an append-only file, fsync each second; {os.cpu_count()} cores.\n")
    print("| peer | W20 round trip, ms | 99th percentile, ms | W21 tasks/s | processor time of a task, µs: engine / worker / client "
          "| W24 bytes left by a task | does |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name, rows in samples.items():
        def column(key, scale=1.0, digits=0):
            return middle([row[key] * scale for row in rows], digits)
        parts = " / ".join(f"{statistics.median(row[part] for row in rows):.0f}" for part in ("engine", "worker", "client"))
        print(f"| {name} | {column('p50', 1e-3, 2)} | {column('p99', 1e-3, 2)} | {column('rate')} | {parts} | {column('memory')} "
              f"| {NOTES[name]} |")
    if scales:
        print("\n| windlass | tasks/s |\n|---|---:|")
        for label, values in scales.items():
            print(f"| {label} | {middle(values)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=",".join(SIZES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    # An end from outside is an exception, so that servers and workers end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    wanted = options.peers.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        peers = Peers(folder.resolve(), wanted)
        for name, reason in peers.missing.items():
            print(f"missing: {name}: {reason}", flush=True)
        samples, scales = {name: [] for name in peers.commands}, {}
        try:
            for number in range(options.rounds):
                for name, peer in peers.commands.items():
                    try:
                        samples[name].append(sample(peer, name, options.quick))
                    except (RuntimeError, subprocess.TimeoutExpired) as error:
                        print(f"round {number + 1}: {name} failed: {error}", flush=True)
                if "windlass" in peers.commands:
                    for label, workers, servers in [("W22, 1 worker", 1, 1), ("W22, 2 workers", 2, 1), ("W22, 4 workers", 4, 1),
                                                    ("W23, two servers, a queue and a worker on each", 2, 2)]:
                        scales.setdefault(label, []).append(scaling(peers.commands["windlass"], workers, servers, options.quick))
        finally:
            print_tables({name: rows for name, rows in samples.items() if rows}, scales, options.rounds)


if __name__ == "__main__":
    main()
