"""Celery: results are kept and pushed to the client; a worker has 64 threads. A task is acknowledged before it runs, so a killed worker
loses what it has."""
import sys
import time

from celery import Celery

SLOTS, WINDOW = 64, 1000
role, address = sys.argv[1:3]
app = Celery("celery_peer", broker=address, backend=address)
app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False, result_expires=600)


@app.task(name="add")
def add(a, b):
    return a + b


def trips(count):
    times = []
    for n in range(count):
        begun = time.perf_counter()
        add.delay(n, 1).get()
        times.append((time.perf_counter() - begun) * 1e6)
    times.sort()
    print(f"p50 {times[len(times) // 2]}\np99 {times[len(times) * 99 // 100]}")


def everything(count):
    begun = time.perf_counter()
    for first in range(0, count, WINDOW):
        for result in [add.delay(n, 1) for n in range(first, min(count, first + WINDOW))]:
            result.get()
    print(f"seconds {time.perf_counter() - begun}")


if role == "worker":
    app.worker_main(["worker", "--pool=threads", f"--concurrency={SLOTS}", "--loglevel=ERROR",
                     "--without-gossip", "--without-mingle", "--without-heartbeat"])
elif role == "trips":
    trips(int(sys.argv[3]))
else:
    everything(int(sys.argv[3]))
