// The REST interface: one function for reads, one for writes, one error type.
import { authorization, lock } from './session.js';

/** An answer that is not a success, with the server's own words. */
export class ApiError extends Error {
  constructor(status, { code, message, field }) {
    super(sentence(message));
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** The server's words begin in lower case and end without a full stop. */
function sentence(message) {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const ROOT = 'api/v1/';
const TIMEOUT_MS = 10_000;

/** The path of a pool, or of a thing below it. */
export function poolPath(name, below) {
  const path = `pools/${encodeURIComponent(name)}`;
  return below === undefined ? path : `${path}/${below}`;
}

/** Reads a path below `/api/v1/`. */
export function read(path) {
  return request(path, { headers: authorization() });
}

/** Sends a change; `version` becomes `If-Match`. */
export function write(method, path, body = {}, version) {
  const headers = { ...authorization(), 'Content-Type': 'application/json' };
  if (version !== undefined) headers['If-Match'] = `"${version}"`;
  return request(path, { method, headers, body: JSON.stringify(body) });
}

const SLOW_DOWN_MS = 1_100;

async function request(path, options, again = true) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { ...options, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new ApiError(0, { code: 'unreachable', message: 'The process does not answer.', field: null });
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  // A program that was started again may have another token.
  if (answer.status === 401) lock();
  if (answer.status === 429 && again) {
    await new Promise((resolve) => {
      setTimeout(resolve, SLOW_DOWN_MS);
    });
    return request(path, options, false);
  }
  throw new ApiError(
    answer.status,
    body?.error ?? { code: 'unknown', message: `The server answered ${answer.status}.`, field: null },
  );
}
