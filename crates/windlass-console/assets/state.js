// What the page knows of the process, and who wants to hear that it changed.

export const state = {
  meta: null, // host, pid, started_ms, read_only ...; null before the first answer
  pools: new Map(),
  alerts: new Map(),
  thresholds: {},
  audit: [],
  connection: 'connecting', // connecting | live | reconnecting | locked
  held: false, // the view is paused: figures arrive and are kept, but not shown
  range: 300,
  clockSkewMs: 0,
};

const listeners = new Map();

/** Calls `listener` at each event of a topic, until the returned function is called. */
export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  return () => listeners.get(topic).delete(listener);
}

/** Tells the listeners of a topic. */
export function emit(topic, detail) {
  for (const listener of listeners.get(topic) ?? []) listener(detail);
}

/** Refreshes a panel again and again until it has `ended`, but not while nobody sees it or nobody answers. */
export async function follow(panel, everyMs) {
  while (!panel.ended) {
    if (!state.held && !document.hidden && state.connection === 'live') await panel.refresh();
    await new Promise((resolve) => {
      setTimeout(resolve, everyMs);
    });
  }
}

/** What the browser has kept under a key; null also where it lets the page keep nothing. */
export function recall(storage, key) {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value under a key, or forgets it if it is null. Where the browser refuses, it ends with the page. */
export function keep(storage, key, value) {
  try {
    if (value === null) globalThis[storage].removeItem(key);
    else globalThis[storage].setItem(key, value);
  } catch {
    // Nothing depends on it: the page only asks again at the next visit.
  }
}

/** The server's clock: what its timestamps are compared with. */
export function serverNow() {
  return Date.now() + state.clockSkewMs;
}

/** Takes a whole snapshot, the answer of `GET pools` and the event `hello`. */
export function takeHello(snapshot) {
  state.meta = { ...snapshot, pools: undefined };
  takePools(snapshot);
  emit('hello');
}

/** Takes the figures of one second. */
export function takePools(snapshot) {
  state.clockSkewMs = snapshot.now_ms - Date.now();
  state.pools = new Map(snapshot.pools.map((pool) => [pool.name, withBounds(pool)]));
  if (!state.held) emit('pools');
}

/** A maximum that nobody can reach, as a cached pool has it, is no bound. */
export const NO_BOUND = 1_000_000;

function withBounds(pool) {
  if (pool.threads.max >= NO_BOUND) pool.threads.max = null;
  if (pool.queue.capacity >= Number.MAX_SAFE_INTEGER) pool.queue.capacity = null;
  return pool;
}

/** Takes the answer of `GET alerts`. */
export function takeAlerts({ alerts, thresholds }) {
  state.alerts = new Map(alerts.map((alert) => [alert.id, alert]));
  state.thresholds = thresholds ?? {};
  emit('alerts');
}

/** Takes one alert that came, went or was silenced. */
export function takeAlert(alert) {
  const before = state.alerts.get(alert.id);
  state.alerts.set(alert.id, alert);
  emit('alerts');
  if ((before?.active ?? false) !== alert.active) emit('alert-turned', alert);
}

/** The alerts that are active now, the newest first; those of a pool that has ended are not. */
export function activeAlerts() {
  return [...state.alerts.values()]
    .filter((alert) => alert.active && (state.pools.has(alert.pool) || REMOTE.has(alert.kind)))
    .sort((one, other) => other.since_ms - one.since_ms);
}

/** Alerts that are about no pool of this process. */
const REMOTE = new Set(['remote_no_worker', 'remote_dead', 'engine_down']);

/** Whether an alert is silenced at the moment. */
export function isSilenced(alert) {
  return alert.silenced_until_ms !== null && alert.silenced_until_ms > serverNow();
}

/** Takes one entry of the audit list; the newest stands first. */
export function takeAudit(entry) {
  const rest = state.audit.filter((known) => known.id !== entry.id);
  state.audit = [entry, ...rest].sort((one, other) => other.id - one.id).slice(0, 256);
  emit('audit');
  // The entry that it undid says so too, but is not sent again.
  if (entry.action === 'revert') emit('reverted');
}

/** Moves the connection to another state. */
export function setConnection(connection) {
  if (state.connection === connection) return;
  state.connection = connection;
  emit('connection');
}
