// The alerts of a pool, and the thresholds that raise them.
import { alertList } from './alerts.js';
import { poolPath, write } from './api.js';
import { attempt, unlocked } from './dialog.js';
import { el, show } from './dom.js';
import { icon } from './icons.js';
import { on, state } from './state.js';

const FIELDS = [
  ['activity', 'Active of max threads', '%', 100],
  ['capacity', 'Queue filled', '%', 100],
  ['queue_age_seconds', 'Oldest waiting task', 's', 1],
  ['stuck_seconds', 'One task runs', 's', 1],
  ['churn_per_minute', 'Thread exits', '/min', 1],
  ['run_timeout_seconds', 'Slow run', 's', 1],
  ['queue_timeout_seconds', 'Slow wait', 's', 1],
];
/** The alerts that are off unless a value is set. */
const OPTIONAL = new Set(['run_timeout_seconds', 'queue_timeout_seconds']);

/** The panel of a pool's alerts. */
export class AlertPanel {
  constructor(name) {
    this.name = name;
    this.list = alertList({ withPool: false });
    this.empty = el('p.empty', null, icon('check'), 'No alert so far.');
    this.inputs = new Map();
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'pool-alerts-title' },
      el('h2.panel__title', { id: 'pool-alerts-title' }, 'Alerts'),
      this.empty,
      this.list.node,
      this.form(),
    );
    this.stops = [on('alerts', () => this.draw()), on('pools', () => this.drawAlerts())];
    this.draw();
  }

  form() {
    const rows = FIELDS.map(([key, label, unit]) => {
      const id = `threshold-${key}`;
      const optional = OPTIONAL.has(key);
      const more = optional ? { placeholder: 'off' } : { required: true };
      const input = el('input.input.input--number', { type: 'number', id, min: 0, step: 'any', ...more });
      this.inputs.set(key, input);
      return el(
        'div.field.field--row',
        null,
        el('label', { for: id }, label),
        el('span.field__with-unit', null, input, el('span.field__unit', null, unit)),
      );
    });
    const form = el(
      'form',
      null,
      ...rows,
      el('p.field__hint', null, 'Slow runs and waits are counted from the value that is set here; empty is off.'),
      el('button.button', { type: 'submit' }, 'Save thresholds'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.save();
    });
    return el('details.details', null, el('summary', null, 'Thresholds'), form);
  }

  draw() {
    this.drawAlerts();
    const known = state.thresholds[this.name];
    if (known === undefined) return;
    for (const [key, , , factor] of FIELDS) {
      const input = this.inputs.get(key);
      if (input === document.activeElement || input.value !== (input.dataset.known ?? '')) continue;
      input.value = input.dataset.known = shown(known[key], factor);
    }
  }

  drawAlerts() {
    const alerts = [...state.alerts.values()]
      .filter((alert) => alert.pool === this.name)
      .sort((one, other) => Number(other.active) - Number(one.active) || other.since_ms - one.since_ms)
      .slice(0, 12);
    show(this.empty, alerts.length === 0);
    this.list.render(alerts);
  }

  async save() {
    const changed = {};
    for (const [key, , , factor] of FIELDS) {
      const input = this.inputs.get(key);
      if (input.value !== (input.dataset.known ?? ''))
        changed[key] = input.value === '' ? null : Number(input.value) / factor;
    }
    if (Object.keys(changed).length === 0 || !(await unlocked())) return;
    const answer = await attempt(
      () => write('PATCH', poolPath(this.name, 'alerts'), changed),
      () => 'Thresholds saved.',
    );
    if (answer === null) return;
    state.thresholds[this.name] = answer;
    for (const [key, , , factor] of FIELDS) {
      const input = this.inputs.get(key);
      input.value = input.dataset.known = shown(answer[key], factor);
    }
  }

  end() {
    this.stops.forEach((stop) => stop());
  }
}

function shown(value, factor) {
  return value === null || value === undefined ? '' : String(Math.round(value * factor * 1000) / 1000);
}
