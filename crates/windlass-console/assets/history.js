// The series of one pool: read once, then continued by the live figures.
import { poolPath, read } from './api.js';
import { NO_BOUND, serverNow } from './state.js';

const MINUTE = 60;
const LONGEST_LIVE = 900;
/** Two points closer than this are the same second. */
const SAME_POINT_SECONDS = 0.5;

const LIVE = {
  active: (pool) => pool.threads.active,
  size: (pool) => pool.threads.size,
  core: (pool) => pool.threads.core,
  max: (pool) => pool.threads.max,
  queue: (pool) => pool.queue.len,
  queue_peak: (pool) => pool.queue.peak,
  capacity: (pool) => pool.queue.capacity,
  submitted: (pool) => pool.rates.submitted,
  completed: (pool) => pool.rates.completed,
  failed: (pool) => pool.rates.failed,
  rejected: (pool) => pool.rates.rejected,
  wait_p50: (pool) => pool.wait?.p50,
  wait_p90: (pool) => pool.wait?.p90,
  wait_p99: (pool) => pool.wait?.p99,
  run_p50: (pool) => pool.run?.p50,
  run_p90: (pool) => pool.run?.p90,
  run_p99: (pool) => pool.run?.p99,
  steals: (pool) => pool.fork_join?.steal_rate,
  lateness_p99: (pool) => pool.scheduled?.lateness?.p99,
};

/** The history of a pool over the chosen range. */
export class History {
  constructor(name) {
    this.name = name;
    this.clear(0);
  }

  clear(range) {
    this.range = range;
    this.loadedAt = 0;
    this.times = [];
    this.series = Object.fromEntries(Object.keys(LIVE).map((key) => [key, []]));
  }

  /** Reads a range from the server; an answer for a range that is no longer wanted is dropped. */
  async load(range) {
    if (range !== this.range) this.clear(range);
    const answer = await read(`${poolPath(this.name, 'history')}?seconds=${range}`);
    if (range !== this.range) return;
    this.loadedAt = Date.now();
    this.times = answer.t_ms.map((ms) => ms / 1000);
    for (const key of Object.keys(LIVE)) {
      const values = answer.series[key] ?? [];
      this.series[key] = this.times.map((_, index) => plain(values[index]));
    }
  }

  /** Whether the points are older than a live view may be. */
  isStale() {
    return this.range > LONGEST_LIVE && Date.now() - this.loadedAt > MINUTE * 1000;
  }

  /** Adds the figures of this second; minute points come from the server only. */
  push(pool) {
    if (this.range > LONGEST_LIVE || this.loadedAt === 0) return;
    const now = serverNow() / 1000;
    const last = this.times.at(-1);
    if (last !== undefined && now - last < SAME_POINT_SECONDS) return;
    this.times.push(now);
    for (const [key, measure] of Object.entries(LIVE)) this.series[key].push(plain(measure(pool)));
    const oldest = now - this.range - 2;
    if (this.times[0] >= oldest) return;
    const keep = this.times.findIndex((time) => time >= oldest);
    this.times.splice(0, keep);
    for (const values of Object.values(this.series)) values.splice(0, keep);
  }
}

function plain(value) {
  return value === undefined || value === null || value >= NO_BOUND * 1_000 ? null : value;
}
