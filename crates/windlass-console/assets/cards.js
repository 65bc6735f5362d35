// A pool at a glance, as a card.
import { AlertChips, revertWord, StateChip } from './chips.js';
import { el, show, text } from './dom.js';
import { count, kind, NONE, rate, seconds } from './format.js';
import { Fraction, QueueGauge, ThreadGauge } from './gauge.js';
import { poolAddress } from './route.js';
import { Spark } from './spark.js';

function figure(label) {
  const value = el('dd');
  return { node: el('div', null, el('dt', null, label), value), value };
}

/** A card whose figures are updated in place. */
export class PoolCard {
  constructor(pool) {
    const { name } = pool;
    this.chip = new StateChip();
    this.alerts = new AlertChips();
    this.revert = el('span.chip', { 'data-state': 'pending', hidden: true });
    this.threads = new Fraction();
    this.threadGauge = new ThreadGauge(`Threads of ${name}`);
    this.threadNote = el('span.meter__note');
    this.queue = new Fraction();
    this.queueGauge = new QueueGauge(`Queue of ${name}`);
    this.queueNote = el('span.meter__note');
    this.activeSpark = new Spark('threads');
    this.queueSpark = new Spark('queue');
    this.figures = ['Done', 'Wait p99', 'Run p99', 'Rejected'].map(figure);
    this.node = this.build(name, pool.kind);
  }

  build(name, poolKind) {
    const title = el('h3.card__name', null, el('a.card__link', { href: poolAddress(name) }, name));
    const meter = (label, fraction, gauge, note, spark) =>
      el('div.meter', null, el('span.meter__label', null, label), fraction.node, spark.node, gauge.node, note);
    return el(
      'li.card',
      { 'data-pool': name },
      el('div.card__head', null, title, el('span.card__kind', null, kind(poolKind)), this.chip.node),
      meter('Threads', this.threads, this.threadGauge, this.threadNote, this.activeSpark),
      meter('Queue', this.queue, this.queueGauge, this.queueNote, this.queueSpark),
      el('dl.card__figures', null, ...this.figures.map((one) => one.node)),
      el('div.card__foot', null, this.alerts.node, this.revert),
    );
  }

  update(pool) {
    const { threads, queue } = pool;
    this.chip.update(pool);
    this.alerts.update(pool);
    const pending = revertWord(pool);
    show(this.revert, pending !== '');
    text(this.revert, pending);
    this.node.classList.toggle('card--alert', pool.alerts.length > 0);
    this.threads.update(count(threads.active), threads.max === null ? '' : ` of ${count(threads.max)}`);
    this.threadGauge.update(threads);
    text(
      this.threadNote,
      `${count(threads.size)} started · core ${count(threads.core)}${threads.waiting > 0 ? ` · ${threads.waiting} blocked` : ''}`,
    );
    this.queue.update(count(queue.len), queue.capacity === null ? '' : ` of ${count(queue.capacity)}`);
    this.queueGauge.update(queue);
    text(
      this.queueNote,
      `${queue.capacity === null ? 'no bound' : `peak ${count(queue.peak)}`}${queue.oldest_seconds === null ? '' : ` · oldest ${seconds(queue.oldest_seconds)}`}`,
    );
    this.activeSpark.draw(pool.spark.active, Math.max(1, threads.max ?? 1));
    this.queueSpark.draw(pool.spark.queue, 1);
    const values = [
      rate(pool.rates.completed),
      pool.wait === null ? NONE : seconds(pool.wait.p99),
      pool.run === null ? NONE : seconds(pool.run.p99),
      count(pool.tasks.rejected),
    ];
    values.forEach((value, index) => text(this.figures[index].value, value));
    this.figures[3].node.classList.toggle('is-bad', pool.rates.rejected > 0);
  }
}
