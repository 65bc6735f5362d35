// Work on the page in slices: a frame never spends more than a few milliseconds on it.

/** What is changed in a frame must also be laid out and painted in it, which takes about as long again. */
const BUDGET_MS = 4;
const waiting = new Map();
let scheduled = false;

/** Runs `work` in one of the next frames; later work under the same key replaces it. */
export function later(key, work) {
  waiting.delete(key);
  waiting.set(key, work);
  request();
}

/** Forgets work that has not run. */
export function forget(key) {
  waiting.delete(key);
}

function request() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(slice);
}

function slice() {
  scheduled = false;
  const end = performance.now() + BUDGET_MS;
  for (const [key, work] of waiting) {
    waiting.delete(key);
    // One failing part of the page must not stop the others.
    try {
      work();
    } catch (error) {
      reportError(error);
    }
    if (performance.now() >= end) break;
  }
  if (waiting.size > 0) request();
}
