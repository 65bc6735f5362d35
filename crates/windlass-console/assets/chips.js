// Chips: a pool's state and its alerts as a shape, a word and a colour.
import { el, KeyedList, set, text } from './dom.js';
import { words } from './format.js';
import { icon, setIcon } from './icons.js';
import { state } from './state.js';

const SHAPES = { running: 'dot', shutting_down: 'half', terminated: 'square', paused: 'pause' };

/** The state that people care about: a paused pool is running, but does not look it. */
export function shownState(pool) {
  return pool.paused_until_ms !== null && pool.state === 'running' ? 'paused' : pool.state;
}

/** A chip with the state of a pool. */
export class StateChip {
  constructor() {
    this.shape = icon('dot');
    this.word = el('span');
    this.node = el('span.chip', null, this.shape, this.word);
  }

  update(pool) {
    const shown = shownState(pool);
    set(this.node, 'data-state', shown);
    setIcon(this.shape, SHAPES[shown] ?? 'dot');
    text(this.word, words(shown));
  }
}

const NAMES = {
  activity: 'busy',
  capacity: 'queue filling',
  queue_age: 'waiting long',
  reject: 'rejecting',
  run_timeout: 'slow runs',
  queue_timeout: 'slow waits',
  stuck: 'stuck task',
  thread_churn: 'thread churn',
  remote_no_worker: 'no worker',
  remote_dead: 'dead tasks',
  engine_down: 'engine down',
};

/** The name of a kind of alert for people. */
export function alertName(kind) {
  return NAMES[kind] ?? words(kind);
}

/** The chips of the alerts that a pool has now. */
export class AlertChips {
  constructor() {
    this.node = el('span.chips');
    this.list = new KeyedList(this.node, {
      key: (kind) => kind,
      make: (kind) => ({
        node: el('span.chip', { 'data-state': 'alert' }, icon('alert'), alertName(kind)),
      }),
      update: () => undefined,
    });
    this.shown = '';
  }

  update(pool) {
    const key = pool.alerts.join();
    if (key === this.shown) return;
    this.shown = key;
    this.list.render(pool.alerts);
  }
}

/** Whether a change of a pool waits for its confirmation. */
export function revertWord(pool) {
  if (pool.pending_revert === null) return '';
  const left = Math.max(0, Math.ceil((pool.pending_revert.at_ms - Date.now() - state.clockSkewMs) / 1000));
  return `reverts in ${left} s`;
}
