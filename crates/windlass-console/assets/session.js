// The token for changes: where it comes from, where it is kept, whether it is right.
//
// It lives in sessionStorage, so it ends with the tab. In the address it may stand behind `#` only:
// a fragment is never sent to a server; it is taken out of the address at once.
import { emit, keep, recall } from './state.js';

const KEY = 'windlass-token';
export const session = { token: recall('sessionStorage', KEY), write: false };

/** Takes `#token=...` out of the address; whether there was one. */
export function takeTokenFromAddress() {
  const found = /^#token=([^&]+)$/.exec(location.hash);
  if (found === null) return false;
  take(decoded(found[1]));
  history.replaceState(null, '', `${location.pathname}${location.search}#/`);
  return true;
}

/** The text that stands in an address; as it is where it is no such text, so that the server can refuse it. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Asks the server whether the kept token allows changes; a wrong one is forgotten. */
export async function checkSession() {
  const answer = await fetch('api/v1/session', { headers: authorization() });
  if (answer.status === 401 || answer.status === 403) {
    take(null);
    return false;
  }
  if (!answer.ok) return false;
  session.write = (await answer.json()).write;
  emit('session');
  return session.write;
}

/** Tries a token that was typed in. */
export async function tryToken(token) {
  const before = session.token;
  session.token = token;
  const answer = await fetch('api/v1/session', { headers: authorization() });
  const right = answer.ok && (await answer.json()).write;
  session.token = before;
  if (right) {
    take(token);
    session.write = true;
    emit('session');
  }
  return right;
}

/** Forgets the token. */
export function lock() {
  take(null);
}

/** The header that carries the token, if there is one. */
export function authorization() {
  return session.token === null ? {} : { Authorization: `Bearer ${session.token}` };
}

function take(token) {
  session.token = token;
  session.write = false;
  keep('sessionStorage', KEY, token);
  emit('session');
}
