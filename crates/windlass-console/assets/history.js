// The series of one pool: read once for the whole range, then continued by the newest points.
import { poolPath, read } from './api.js';
import { NO_BOUND } from './state.js';

const LONGEST_BY_SECONDS = 900;
const TAIL = 60;
const MINUTE_MS = 60_000;
/** A chart is some hundreds of pixels wide: newer points are read when they would move it by about two. */
const STEPS_OF_A_CHART = 150;
/** Figures come a little earlier or later than each second. */
const SLACK_MS = 500;
/** Two points closer than this are the same second. */
const SAME_POINT_SECONDS = 0.5;

/** The history of a pool over the chosen range. */
export class History {
  constructor(name) {
    this.name = name;
    this.clear(0);
  }

  clear(range) {
    this.range = range;
    this.readAt = 0;
    this.isReading = false;
    this.times = [];
    this.series = {};
  }

  /** The values of a series; null where nothing was measured. */
  values(key) {
    this.series[key] ??= this.times.map(() => null);
    return this.series[key];
  }

  /** Reads a whole range; an answer for a range that is no longer wanted is dropped. */
  async load(range) {
    this.clear(range);
    const answer = await this.read(`seconds=${range}`);
    if (answer === null || range !== this.range) return;
    this.times = answer.t_ms.map((ms) => ms / 1000);
    this.series = Object.fromEntries(Object.entries(answer.series).map(([key, values]) => [key, values.map(plain)]));
  }

  /** Reads the points that are newer than the last; of a day, the whole again once a minute. */
  async follow() {
    const { range } = this;
    if (range === 0 || this.isReading) return;
    if (range > LONGEST_BY_SECONDS) {
      if (Date.now() - this.readAt > MINUTE_MS) await this.load(range);
      return;
    }
    const gap = Date.now() - this.readAt;
    if (gap > (TAIL - 5) * 1000) {
      await this.load(range);
      return;
    }
    if (gap < (range * 1000) / STEPS_OF_A_CHART - SLACK_MS) return;
    const last = this.times.at(-1);
    const answer = await this.read(last === undefined ? `seconds=${TAIL}` : `since=${Math.round(last * 1000)}`);
    if (answer !== null && range === this.range) this.append(answer);
  }

  async read(query) {
    if (this.isReading) return null;
    this.isReading = true;
    try {
      const answer = await read(`${poolPath(this.name, 'history')}?${query}`);
      this.readAt = Date.now();
      return answer;
    } finally {
      this.isReading = false;
    }
  }

  append({ t_ms: times, series }) {
    const last = this.times.at(-1) ?? -Infinity;
    const first = times.findIndex((ms) => ms / 1000 - last > SAME_POINT_SECONDS);
    if (first < 0) return;
    for (const [key, values] of Object.entries(series)) this.values(key).push(...values.slice(first).map(plain));
    this.times.push(...times.slice(first).map((ms) => ms / 1000));
    for (const values of Object.values(this.series)) while (values.length < this.times.length) values.push(null);
    const oldest = this.times.at(-1) - this.range - 2;
    const keep = this.times.findIndex((time) => time >= oldest);
    if (keep <= 0) return;
    this.times.splice(0, keep);
    for (const values of Object.values(this.series)) values.splice(0, keep);
  }
}

/** A bound that nobody can reach is none, and would flatten the rest of a chart. */
function plain(value) {
  return value === undefined || value === null || value >= NO_BOUND * 1_000 ? null : value;
}
