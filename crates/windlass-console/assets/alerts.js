// Alerts as a list: what, since when, how bad, and a way to silence each.
import { write } from './api.js';
import { alertName } from './chips.js';
import { attempt, unlocked } from './dialog.js';
import { el, KeyedList, set, show, text } from './dom.js';
import { clock, span } from './format.js';
import { icon, setIcon } from './icons.js';
import { poolAddress } from './route.js';
import { isSilenced, on, serverNow, takeAlert } from './state.js';

const SILENCE_SECONDS = 600;

/** A list of alerts, updated in place by `render`. */
export function alertList({ withPool }) {
  const node = el('ul.alerts');
  const list = new KeyedList(node, {
    key: (alert) => alert.id,
    make: (alert) => makeRow(alert, withPool),
    update: updateRow,
  });
  return { node, render: (alerts) => list.render(alerts) };
}

function makeRow(alert, withPool) {
  const row = { alert, message: el('span.alert__message'), since: el('span.alert__since') };
  row.silence = el(
    'button.button.button--small',
    { type: 'button', click: () => silence(row.alert) },
    'Silence 10 min',
  );
  row.mark = icon('alert');
  row.node = el(
    'li.alert',
    null,
    row.mark,
    el(
      'span.alert__text',
      null,
      el('strong.alert__kind', null, alertName(alert.kind)),
      withPool && alert.pool ? el('a.alert__pool', { href: poolAddress(alert.pool) }, alert.pool) : null,
      row.message,
      row.since,
    ),
    row.silence,
  );
  return row;
}

function updateRow(row, alert) {
  row.alert = alert;
  const silenced = isSilenced(alert);
  set(row.node, 'data-tone', alert.active ? (silenced ? 'silenced' : 'active') : 'cleared');
  setIcon(row.mark, alert.active ? (silenced ? 'bell-off' : 'alert') : 'check');
  text(row.message, alert.message);
  const since = (serverNow() - alert.since_ms) / 1000;
  const silencedUntil = silenced ? ` · silenced until ${clock(alert.silenced_until_ms)}` : '';
  text(
    row.since,
    alert.active ? `for ${span(since)}${silencedUntil}` : `${clock(alert.since_ms)} to ${clock(alert.cleared_ms)}`,
  );
  set(row.silence, 'aria-label', `Silence 10 min: ${alertName(alert.kind)}${alert.pool ? ` of ${alert.pool}` : ''}`);
  show(row.silence, alert.active && !silenced);
}

async function silence(alert) {
  if (!(await unlocked())) return;
  const path = `alerts/${encodeURIComponent(alert.id)}/silence`;
  const answer = await attempt(
    () => write('POST', path, { seconds: SILENCE_SECONDS }),
    () => 'Silenced for 10 minutes.',
  );
  if (answer !== null) takeAlert({ ...alert, ...answer });
}

/** Reads out alerts that come and go, for those who do not see them turn red. */
export function announceAlerts() {
  const announcer = document.getElementById('announcer');
  on('alert-turned', (alert) => {
    const where = alert.pool ? ` in pool ${alert.pool}` : '';
    announcer.textContent = alert.active
      ? `Alert${where}: ${alertName(alert.kind)}. ${alert.message}`
      : `Cleared${where}: ${alertName(alert.kind)}.`;
  });
}
