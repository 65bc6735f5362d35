// Pools at a glance, as the rows of a dense table.
import { AlertChips, StateChip } from './chips.js';
import { el, text } from './dom.js';
import { count, NONE, rate, seconds } from './format.js';
import { QueueGauge, ThreadGauge } from './gauge.js';
import { poolAddress } from './route.js';
import { Spark } from './spark.js';

const COLUMNS = [
  'Pool',
  'State',
  'Threads',
  'Core–max',
  'Queue',
  'Bound',
  'In',
  'Done',
  'Wait p50',
  'Wait p99',
  'Run p99',
  'Rejected',
  'Last minute',
  'Alerts',
];
const LEFT = new Set(['Pool', 'State', 'Threads', 'Queue', 'Last minute', 'Alerts']);

/** The table with its headers; the rows go into `body`. */
export function poolTable() {
  const body = el('tbody');
  const heads = COLUMNS.map((name) => el(LEFT.has(name) ? 'th' : 'th.is-number', { scope: 'col' }, name));
  const table = el(
    'table.data.data--pools',
    null,
    el('caption.sr-only', null, 'Pools at a glance'),
    el('thead', null, el('tr', null, ...heads)),
    body,
  );
  return { node: el('div.scroller', { tabindex: 0, role: 'region', 'aria-label': 'Table of pools' }, table), body };
}

/** A row whose figures are updated in place. */
export class PoolRow {
  constructor({ name }) {
    this.chip = new StateChip();
    this.alerts = new AlertChips();
    this.threadGauge = new ThreadGauge(`Threads of ${name}`);
    this.queueGauge = new QueueGauge(`Queue of ${name}`);
    this.spark = new Spark('threads');
    this.active = el('span.cell__value');
    this.queue = el('span.cell__value');
    this.numbers = Array.from({ length: 8 }, () => el('td.is-number'));
    const [sizes, bound, ...rest] = this.numbers;
    const link = el('a', { href: poolAddress(name) }, name);
    this.node = el(
      'tr',
      { 'data-pool': name },
      el('th', { scope: 'row' }, link),
      el('td', null, this.chip.node),
      el('td', null, el('span.cell', null, this.active, this.threadGauge.node)),
      sizes,
      el('td', null, el('span.cell', null, this.queue, this.queueGauge.node)),
      bound,
      ...rest,
      el('td', null, this.spark.node),
      el('td', null, this.alerts.node),
    );
  }

  update(pool) {
    const { threads, queue, rates } = pool;
    this.chip.update(pool);
    this.alerts.update(pool);
    this.threadGauge.update(threads);
    this.queueGauge.update(queue);
    text(this.active, `${count(threads.active)}/${count(threads.size)}`);
    text(this.queue, count(queue.len));
    const values = [
      `${count(threads.core)}–${threads.max === null ? '∞' : count(threads.max)}`,
      queue.capacity === null ? 'none' : count(queue.capacity),
      rate(rates.submitted),
      rate(rates.completed),
      pool.wait === null ? NONE : seconds(pool.wait.p50),
      pool.wait === null ? NONE : seconds(pool.wait.p99),
      pool.run === null ? NONE : seconds(pool.run.p99),
      count(pool.tasks.rejected),
    ];
    values.forEach((value, index) => text(this.numbers[index], value));
    this.numbers[7].classList.toggle('is-bad', rates.rejected > 0);
    this.spark.draw(pool.spark.active, Math.max(1, threads.max ?? 1));
  }
}
