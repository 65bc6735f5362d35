// The stream of events, and its recovery.
//
// It is read with fetch and not with EventSource, which cannot send the token where reads need one
// and gives up for good when a restarting server answers with an error.
import { authorization } from './session.js';
import { setConnection, state, takeAlert, takeAudit, takeHello, takePools } from './state.js';

const RETRY_MS = [250, 500, 1_000, 2_000];
/** Figures come every second: after this much silence the connection counts as dead. */
const SILENCE_MS = 6_000;

const EVENTS = { hello: takeHello, pools: takePools, alert: takeAlert, audit: takeAudit };
let current = null;
let attempt = 0;
let retry = null;

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
    const answer = await fetch('events', { headers, cache: 'no-store', signal: controller.signal });
    if (answer.status === 401) return setConnection('locked');
    if (!answer.ok) return undefined;
    const parser = new EventParser((name, data) => {
      attempt = 0;
      setConnection('live');
      EVENTS[name]?.(JSON.parse(data));
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      alive.feed();
      parser.take(value);
    }
  } finally {
    alive.end();
  }
}

function watchdog(controller) {
  let last = Date.now();
  const timer = setInterval(() => {
    if (Date.now() - last > SILENCE_MS) controller.abort();
  }, 1_000);
  return {
    feed: () => {
      last = Date.now();
    },
    end: () => clearInterval(timer),
  };
}

/** Splits the text of an event stream into events. */
export class EventParser {
  constructor(dispatch) {
    this.dispatch = dispatch;
    this.rest = '';
    this.reset();
  }

  reset() {
    this.name = 'message';
    this.data = [];
  }

  take(chunk) {
    const lines = (this.rest + chunk).split(/\r?\n/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === '') {
      if (this.data.length > 0) this.dispatch(this.name, this.data.join('\n'));
      this.reset();
    } else if (line.startsWith('event:')) this.name = line.slice(6).trim();
    else if (line.startsWith('data:')) this.data.push(line.slice(5).replace(/^ /, ''));
    // `id:` is not kept: a new connection starts with a whole snapshot. A line with `:` first is a keep-alive.
  }
}
