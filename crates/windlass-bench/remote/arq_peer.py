"""arq: results are kept; worker and client poll for them. Both ask every 5 ms here, instead of every half second as they do by default."""
import asyncio
import sys
import time
from urllib.parse import urlparse

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

SLOTS, WINDOW, POLL = 64, 1000, 0.005
role, address = sys.argv[1:3]
settings = RedisSettings(host=urlparse(address).hostname, port=urlparse(address).port)


async def add(_, a, b):
    return a + b


async def trips(pool, count):
    times = []
    for n in range(count):
        begun = time.perf_counter()
        job = await pool.enqueue_job("add", n, 1)
        await job.result(poll_delay=POLL)
        times.append((time.perf_counter() - begun) * 1e6)
    times.sort()
    print(f"p50 {times[len(times) // 2]}\np99 {times[len(times) * 99 // 100]}")


async def everything(pool, count):
    begun = time.perf_counter()
    for first in range(0, count, WINDOW):
        part = range(first, min(count, first + WINDOW))
        jobs = await asyncio.gather(*(pool.enqueue_job("add", n, 1) for n in part))
        await asyncio.gather(*(job.result(poll_delay=POLL) for job in jobs))
    print(f"seconds {time.perf_counter() - begun}")


async def client():
    pool = await create_pool(settings)
    await (trips if role == "trips" else everything)(pool, int(sys.argv[3]))


if role == "worker":
    asyncio.set_event_loop(asyncio.new_event_loop())
    Worker([add], redis_settings=settings, max_jobs=SLOTS, poll_delay=POLL, keep_result=600).run()
else:
    asyncio.run(client())
