"""RQ: records and results are kept, and the client waits on a stream. A worker runs one task at a time; this one does not fork for each."""
import sys
import time

import redis
from rq import Queue, SimpleWorker

WINDOW, BATCH = 1000, 100
role, address = sys.argv[1:3]
connection = redis.Redis.from_url(address)
queue = Queue("bench", connection=connection)


def add(a, b):
    return a + b


def trips(count):
    times = []
    for n in range(count):
        begun = time.perf_counter()
        job = queue.enqueue("rq_peer.add", n, 1, result_ttl=600)
        job.latest_result(timeout=30)
        times.append((time.perf_counter() - begun) * 1e6)
    times.sort()
    print(f"p50 {times[len(times) // 2]}\np99 {times[len(times) * 99 // 100]}")


def everything(count):
    begun = time.perf_counter()
    for first in range(0, count, WINDOW):
        jobs = []
        for batch in range(first, min(count, first + WINDOW), BATCH):
            part = range(batch, min(count, batch + BATCH))
            data = [Queue.prepare_data("rq_peer.add", (n, 1), result_ttl=600) for n in part]
            jobs += queue.enqueue_many(data)
        for job in jobs:
            job.latest_result(timeout=30)
    print(f"seconds {time.perf_counter() - begun}")


if __name__ == "__main__":
    if role == "worker":
        SimpleWorker([queue], connection=connection).work(logging_level="ERROR")
    elif role == "trips":
        trips(int(sys.argv[3]))
    else:
        everything(int(sys.argv[3]))
