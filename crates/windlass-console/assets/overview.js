// All pools at a glance: totals, active alerts, a filter, an order, and cards or a table.
import { alertList } from './alerts.js';
import { forget, later } from './batch.js';
import { PoolCard } from './cards.js';
import { el, KeyedList, set, show, text } from './dom.js';
import { count, rate } from './format.js';
import { icon } from './icons.js';
import { Spark } from './spark.js';
import { activeAlerts, keep, on, recall, state } from './state.js';
import { PoolRow, poolTable } from './table.js';

const NEW_ROWS = 6;
const byName = (one, other) => (one.name < other.name ? -1 : 1);
const most = (measure) => (one, other) => measure(other) - measure(one) || byName(one, other);
const ORDERS = {
  alerts: ['Alerts first', most((pool) => pool.alerts.length)],
  name: ['Name', byName],
  busy: ['Busiest', most((pool) => pool.threads.active / Math.max(1, pool.threads.max ?? pool.threads.size))],
  queue: ['Longest queue', most((pool) => pool.queue.len)],
  wait: ['Longest wait', most((pool) => pool.wait?.p99 ?? 0)],
  rate: ['Most done', most((pool) => pool.rates.completed)],
  rejected: ['Most rejected', most((pool) => pool.tasks.rejected)],
};
/** What the reader chose last; layout and order are remembered for the next visit. */
const choice = {
  layout: recall('localStorage', 'windlass-layout') === 'table' ? 'table' : 'cards',
  order: Object.hasOwn(ORDERS, recall('localStorage', 'windlass-order'))
    ? recall('localStorage', 'windlass-order')
    : 'alerts',
  filter: '',
};

function remember(name, value) {
  choice[name] = value;
  keep('localStorage', `windlass-${name}`, value);
}

/** Shows the overview in `main`; the returned function ends it. */
export function showOverview(main) {
  const totals = new Totals();
  const alerts = alertList({ withPool: true });
  const alertPanel = el(
    'section.panel.panel--alerts',
    { 'aria-labelledby': 'alerts-title', hidden: true },
    el('h2.panel__title', { id: 'alerts-title' }, icon('alert'), 'Active alerts'),
    alerts.node,
  );
  const pools = new PoolList();
  main.replaceChildren(el('h1.sr-only', null, 'All pools'), totals.node, alertPanel, pools.node);
  const drawAlerts = () => {
    const active = activeAlerts();
    show(alertPanel, active.length > 0);
    alerts.render(active);
  };
  const draw = () => {
    later('totals', () => totals.update([...state.pools.values()]));
    later('order', () => pools.render());
  };
  const ends = [on('pools', draw), on('pools', drawAlerts), on('alerts', drawAlerts)];
  draw();
  drawAlerts();
  return () => {
    ends.forEach((end) => end());
    pools.end();
    ['totals', 'order'].forEach(forget);
  };
}

/** The sums over all pools. */
class Totals {
  constructor() {
    this.tiles = ['Active threads', 'Waiting tasks', 'Done', 'Failed', 'Rejected'].map((label) => {
      const value = el('dd.tile__value');
      const note = el('dd.tile__note');
      return { node: el('div.tile', null, el('dt', null, label), value, note), value, note };
    });
    this.sparks = [new Spark('threads'), new Spark('queue')];
    this.sparks.forEach((spark, index) =>
      this.tiles[index].node.append(el('dd.tile__spark', { 'aria-hidden': 'true' }, spark.node)),
    );
    this.node = el('dl.tiles', { 'aria-label': 'All pools together' }, ...this.tiles.map((tile) => tile.node));
  }

  update(pools) {
    const sum = (measure) => pools.reduce((total, pool) => total + (measure(pool) ?? 0), 0);
    const rows = [
      [count(sum((pool) => pool.threads.active)), `of ${count(sum((pool) => pool.threads.size))} started`],
      [
        count(sum((pool) => pool.queue.len)),
        `in ${count(pools.filter((pool) => pool.queue.len > 0).length)} of ${count(pools.length)} queues`,
      ],
      [rate(sum((pool) => pool.rates.completed)), `${count(sum((pool) => pool.tasks.completed))} in all`],
      [rate(sum((pool) => pool.rates.failed)), `${count(sum((pool) => pool.tasks.failed))} in all`],
      [rate(sum((pool) => pool.rates.rejected)), `${count(sum((pool) => pool.tasks.rejected))} in all`],
    ];
    rows.forEach(([value, note], index) => {
      text(this.tiles[index].value, value);
      text(this.tiles[index].note, note);
    });
    this.tiles[3].node.classList.toggle('is-bad', sum((pool) => pool.rates.failed) > 0);
    this.tiles[4].node.classList.toggle('is-bad', sum((pool) => pool.rates.rejected) > 0);
    this.sparks[0].draw(added(pools, 'active'));
    this.sparks[1].draw(added(pools, 'queue'));
  }
}

function added(pools, series) {
  const total = new Array(60).fill(0);
  for (const pool of pools) {
    const values = pool.spark[series];
    const shift = total.length - values.length;
    values.forEach((value, index) => {
      if (index + shift >= 0) total[index + shift] += value ?? 0;
    });
  }
  return total;
}

/** The list of pools with its tools. */
class PoolList {
  constructor() {
    this.place = el('div.pools');
    this.summary = el('span.tools__summary', { role: 'status' });
    this.empty = el('p.empty', { hidden: true });
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) this.seen(target.dataset.pool, isIntersecting);
      },
      { rootMargin: '200px' },
    );
    this.node = el('section', { 'aria-labelledby': 'pools-title' }, this.tools(), this.empty, this.place);
    this.lay();
  }

  tools() {
    const filter = el('input.input', {
      type: 'search',
      id: 'filter',
      placeholder: 'Filter pools',
      'aria-label': 'Filter pools by name, kind or state',
      autocomplete: 'off',
      spellcheck: 'false',
    });
    filter.value = choice.filter;
    filter.addEventListener('input', () => {
      choice.filter = filter.value;
      this.render(true);
    });
    const order = el(
      'select.input',
      { id: 'order', 'aria-label': 'Order of the pools' },
      ...Object.entries(ORDERS).map(([value, [label]]) => el('option', { value }, label)),
    );
    order.value = choice.order;
    order.addEventListener('change', () => {
      remember('order', order.value);
      this.render(true);
    });
    const layouts = [
      ['cards', 'Cards'],
      ['table', 'Table'],
    ].map(([value, label]) =>
      el(
        'button',
        {
          type: 'button',
          'data-layout': value,
          'aria-pressed': String(choice.layout === value),
          click: () => this.choose(value),
        },
        label,
      ),
    );
    this.layouts = el('div.segments', { role: 'group', 'aria-label': 'Layout' }, ...layouts);
    return el(
      'div.tools',
      null,
      el('h2.tools__title', { id: 'pools-title' }, 'Pools'),
      this.summary,
      el('div.tools__inputs', null, filter, order, this.layouts),
    );
  }

  choose(layout) {
    remember('layout', layout);
    for (const button of this.layouts.children) set(button, 'aria-pressed', String(button.dataset.layout === layout));
    this.lay();
    this.render(true);
  }

  lay() {
    this.observer.disconnect();
    this.cards = choice.layout === 'cards';
    const table = this.cards ? null : poolTable();
    const parent = this.cards ? el('ul.cards') : table.body;
    this.place.replaceChildren(this.cards ? parent : table.node);
    this.list = new KeyedList(parent, {
      key: (pool) => pool.name,
      make: (pool) => this.make(pool),
      update: (row, pool) => {
        row.pool = pool;
        if (row.visible) later(row, () => row.update(row.pool));
      },
    });
    this.held = [];
  }

  make(pool) {
    const row = this.cards ? new PoolCard(pool) : new PoolRow(pool);
    row.destroy = () => {
      this.observer.unobserve(row.node);
      forget(row);
    };
    row.pool = pool;
    row.visible = false;
    this.observer.observe(row.node);
    later(row, () => row.update(row.pool));
    return row;
  }

  seen(name, visible) {
    const row = this.list.rows.get(name);
    if (row === undefined) return;
    row.visible = visible;
    if (visible) later(row, () => row.update(row.pool));
  }

  render(now = false) {
    const wanted = choice.filter.trim().toLowerCase();
    const all = [...state.pools.values()];
    const found = all.filter(
      (pool) =>
        wanted === '' ||
        `${pool.name} ${pool.kind} ${pool.state} ${pool.alerts.join(' ')}`.toLowerCase().includes(wanted),
    );
    text(this.summary, wanted === '' ? '' : `${found.length} of ${all.length}`);
    show(this.empty, found.length === 0 && state.meta !== null);
    text(this.empty, all.length === 0 ? 'No pool is registered with the monitor yet.' : 'No pool matches the filter.');
    // The first cards of many pools come a few at a time, so that no frame makes dozens.
    const ordered = this.ordered(found, now);
    const room = this.list.rows.size + NEW_ROWS;
    this.list.render(ordered.slice(0, room));
    if (room < ordered.length) later('order', () => this.render(now));
  }

  /** The order is kept while the reader points at the list: nothing moves away under a click. */
  ordered(pools, now) {
    const sorted = pools.sort(ORDERS[choice.order][1]);
    const hold = !now && (this.place.matches(':hover') || this.place.contains(document.activeElement));
    if (hold) {
      const rank = new Map(this.held.map((name, index) => [name, index]));
      sorted.sort((one, other) => (rank.get(one.name) ?? pools.length) - (rank.get(other.name) ?? pools.length));
    }
    this.held = sorted.map((pool) => pool.name);
    return sorted;
  }

  end() {
    this.observer.disconnect();
    for (const row of this.list.rows.values()) forget(row);
  }
}
