// The stream of events, and its recovery.
//
// It is read with fetch and not with EventSource, which cannot send the token where reads need one
// and gives up for good when a restarting server answers with an error.
import { authorization, lock } from './session.js';
import { setConnection, state, takeAlert, takeAudit, takeHello, takePools } from './state.js';

const RETRY_MS = [250, 500, 1_000, 2_000];
/** Figures come every second: after this much silence the connection counts as dead. */
const SILENCE_MS = 6_000;
/** A monitor that takes no samples by itself sends none; then the keep-alive of every 15 seconds has to do. */
const LONG_SILENCE_MS = 20_000;

const EVENTS = { hello: takeHello, pools: takePools, alert: takeAlert, audit: takeAudit };
let current = null;
let attempt = 0;
let retry = null;
/** The last event that was taken: the server goes on after it if it can, else it sends a whole snapshot. */
let last = null;

/** Opens the stream, or opens it anew, with the token as it is now. */
export function connect() {
  clearTimeout(retry);
  current?.abort();
  const controller = new AbortController();
  current = controller;
  follow(controller)
    .catch(() => undefined)
    .then(() => {
      if (current === controller && state.connection !== 'locked') reconnect();
    });
}

/**
 * Leaves the connection with the page. The browser may keep a page that was left, with its requests, for the back
 * button: a few of those would hold all the connections that it has for one host.
 */
export function followVisits() {
  addEventListener('pagehide', () => {
    clearTimeout(retry);
    current?.abort();
    current = null;
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) connect();
  });
}

function reconnect() {
  setConnection(state.meta === null ? 'connecting' : 'reconnecting');
  const wait = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
  attempt += 1;
  retry = setTimeout(connect, wait);
}

async function follow(controller) {
  const alive = watchdog(controller);
  try {
    const headers = { ...authorization(), Accept: 'text/event-stream' };
    if (last !== null) headers['Last-Event-ID'] = last;
    const answer = await fetch('events', { headers, cache: 'no-store', signal: controller.signal });
    if (answer.status === 401) {
      lock();
      return setConnection('locked');
    }
    if (!answer.ok) return undefined;
    const parser = new EventParser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      const events = parser.take(value);
      alive.feed(events);
      if (events.length > 0) take(events);
    }
  } finally {
    alive.end();
  }
}

/** Takes what has arrived at once. Of several figures only the newest are shown: after a gap there are many. */
function take(events) {
  attempt = 0;
  setConnection('live');
  const newest = events.findLast(({ name }) => name === 'pools');
  for (const event of events) {
    if (event.name !== 'pools' || event === newest) EVENTS[event.name]?.(JSON.parse(event.data));
    last = event.id ?? last;
  }
}

function watchdog(controller) {
  let fed = Date.now();
  // Until the first answer, and as long as figures come.
  let patience = SILENCE_MS;
  const timer = setInterval(() => {
    if (Date.now() - fed <= patience) return;
    // The next one begins with a whole snapshot, also if there is nothing new.
    last = null;
    controller.abort();
  }, 1_000);
  return {
    feed: (events) => {
      fed = Date.now();
      if (events.some(({ name }) => name === 'pools')) patience = SILENCE_MS;
      else if (events.some(({ name }) => name === 'hello')) patience = LONG_SILENCE_MS;
    },
    end: () => clearInterval(timer),
  };
}

/** Splits the text of an event stream into events. */
export class EventParser {
  constructor() {
    this.rest = '';
    this.reset();
  }

  reset() {
    this.name = 'message';
    this.id = null;
    this.data = [];
  }

  /** Returns the events that the next part of the text completes. */
  take(chunk) {
    const lines = (this.rest + chunk).split(/\r?\n/);
    this.rest = lines.pop();
    return lines.map((line) => this.line(line)).filter((event) => event !== null);
  }

  line(line) {
    if (line === '') {
      const event = { name: this.name, id: this.id, data: this.data.join('\n') };
      const isEvent = this.data.length > 0;
      this.reset();
      return isEvent ? event : null;
    }
    if (line.startsWith('event:')) this.name = line.slice(6).trim();
    else if (line.startsWith('id:')) this.id = line.slice(3).trim();
    else if (line.startsWith('data:')) this.data.push(line.slice(5).replace(/^ /, ''));
    // A line with `:` first is a keep-alive.
    return null;
  }
}
