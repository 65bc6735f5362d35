// Numbers, durations and times as people read them.

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
export const NONE = '–';

const missing = (value) => value === null || value === undefined || Number.isNaN(value);

/** A count: every digit up to 99,999, then 1.23M. */
export function count(value) {
  if (missing(value)) return NONE;
  return Math.abs(value) < 100_000 ? WHOLE.format(value) : COMPACT.format(value);
}

/** A rate per second. */
export function rate(value) {
  if (missing(value)) return NONE;
  if (value === 0) return '0/s';
  if (value < 10) return `${value < 0.05 ? '<0.1' : value.toFixed(1)}/s`;
  return `${count(Math.round(value))}/s`;
}

/** A duration in seconds, with three significant digits and the unit that suits it. */
export function seconds(value) {
  if (missing(value)) return NONE;
  if (value === 0) return '0 s';
  if (value < 0.999e-6) return `${digits(value * 1e9)} ns`;
  if (value < 0.9995e-3) return `${digits(value * 1e6)} µs`;
  if (value < 0.9995) return `${digits(value * 1e3)} ms`;
  if (value < 99.95) return `${digits(value)} s`;
  return span(value);
}

function digits(value) {
  if (value >= 99.95) return String(Math.round(value));
  if (value >= 9.995) return value.toFixed(1).replace(/\.0$/, '');
  return value.toFixed(2).replace(/\.?0+$/, '');
}

/** A long duration, to its two largest units: 3h 12m. */
export function span(value) {
  if (missing(value)) return NONE;
  const whole = Math.max(0, Math.floor(value));
  const parts = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ];
  const first = parts.findIndex(([, size]) => whole >= size);
  if (first < 0) return '0s';
  const [unit, size] = parts[first];
  const next = parts[first + 1];
  const rest = next === undefined ? 0 : Math.floor((whole % size) / next[1]);
  return `${Math.floor(whole / size)}${unit}${next === undefined || rest === 0 ? '' : ` ${rest}${next[0]}`}`;
}

/** A share of one as a percentage. */
export function percent(value) {
  return missing(value) ? NONE : `${Math.round(value * 100)} %`;
}

/** The time of day of a Unix time in milliseconds. */
export function clock(ms) {
  if (missing(ms)) return NONE;
  const time = new Date(ms);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** A word of the API for people: `discard_oldest` becomes `discard oldest`. */
export function words(name) {
  return String(name).replaceAll('_', ' ');
}

/** The name of a worker without the name of its pool, which stands above it anyway. */
export function shortWorker(name, pool) {
  if (missing(name)) return NONE;
  return name.startsWith(`${pool}-`) ? name.slice(pool.length + 1) : name;
}

/** The name of a task, or its id, which reads `task-7`. */
export function taskName({ name, id }) {
  return name ?? id;
}

/** A value of a setting. */
export function setting(name, value) {
  if (missing(value)) return name === 'capacity' ? 'no bound' : 'none';
  if (name === 'keep_alive_seconds') return seconds(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? count(value) : words(value);
}

const FIELDS = {
  core: 'Core threads',
  max: 'Maximum threads',
  keep_alive_seconds: 'Keep-alive',
  allow_core_timeout: 'Core threads time out',
  capacity: 'Queue capacity',
  policy: 'Rejection policy',
  parallelism: 'Parallelism',
};

/** The name of a setting for people. */
export function field(name) {
  return FIELDS[name] ?? words(name);
}

const KINDS = { thread_pool: 'thread pool', scheduled: 'scheduled', fork_join: 'fork-join' };

/** The kind of a pool for people. */
export function kind(name) {
  return KINDS[name] ?? words(name);
}
