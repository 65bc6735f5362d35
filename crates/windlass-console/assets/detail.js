// One pool in full: figures, charts, workers, tasks, alerts, tuning and the audit list.
import { Actions } from './actions.js';
import { AuditList, isRemote } from './audit.js';
import { forget, later } from './batch.js';
import { Chart, chartsOf } from './charts.js';
import { AlertChips, StateChip } from './chips.js';
import { el, show, text } from './dom.js';
import { count, kind, NONE, rate, seconds, span } from './format.js';
import { QueueGauge, ThreadGauge } from './gauge.js';
import { History } from './history.js';
import { icon } from './icons.js';
import { RecentTasks } from './recent.js';
import { NextRuns, Stealing } from './scheduled.js';
import { on, serverNow, state } from './state.js';
import { AlertPanel } from './thresholds.js';
import { PendingChange, TuneForm } from './tune.js';
import { WorkerStrip } from './workers.js';

const BACK = () => el('a.back', { href: '#/' }, icon('back'), 'All pools');

/** Shows the pool `name` in `main`; the returned function ends it. */
export function showDetail(main, name) {
  let view = null;
  const gone = new Gone(name);
  const draw = () => {
    const pool = state.pools.get(name);
    if (pool === undefined) {
      view?.end();
      view = null;
      gone.draw(main);
      return;
    }
    gone.seen = true;
    if (view === null || view.version !== shape(pool)) {
      view?.end();
      view = new PoolView(pool);
      main.replaceChildren(view.node);
      view.load();
    }
    view.update(pool);
  };
  const ends = [
    on('pools', draw),
    on('resync', () => view?.load()),
    on('range', () => view?.load()),
    on('theme', () => view?.rebuild()),
  ];
  main.replaceChildren();
  draw();
  return () => {
    ends.forEach((end) => end());
    view?.end();
  };
}

/** What of a pool decides which parts its view has. */
const shape = (pool) => `${pool.kind} ${pool.tunable.join()}`;

/** What stands in place of a pool that is not there. */
class Gone {
  constructor(name) {
    this.name = name;
    this.seen = false;
    this.node = el('section.gone', { role: 'status' }, BACK(), el('h1', null, name), el('p'));
  }

  draw(main) {
    if (main.firstChild !== this.node) main.replaceChildren(this.node);
    const waiting = state.meta === null;
    const missing = this.seen
      ? 'This pool has ended.'
      : 'There is no pool of this name: it has ended, or it was never registered.';
    text(this.node.lastChild, waiting ? 'Waiting for the first figures.' : missing);
  }
}

class PoolView {
  constructor(pool) {
    this.version = shape(pool);
    this.ended = false;
    this.name = pool.name;
    this.history = new History(pool.name);
    this.head = new Head(pool, () => this.tune.focus());
    this.charts = chartsOf(pool.kind).map((name) => new Chart(name));
    this.pending = new PendingChange(pool.name);
    this.tune = new TuneForm(pool);
    this.actions = new Actions(pool);
    this.alerts = new AlertPanel(pool.name);
    this.workers = new WorkerStrip(pool.name);
    this.recent = new RecentTasks(pool.name);
    this.audit = new AuditList((entry) => entry.pool === pool.name && !isRemote(entry));
    this.special = pool.scheduled !== null ? new NextRuns() : pool.fork_join !== null ? new Stealing() : null;
    this.node = this.build();
  }

  build() {
    const charts = el('section.charts', { 'aria-label': 'Charts' }, ...this.charts.map((chart) => chart.node));
    const side = el('div.detail__side', null, this.tune.node, this.actions.node, this.alerts.node, this.audit.node);
    const body = el('div.detail__main', null, charts, this.special?.node, this.workers.node, this.recent.node);
    return el('div.detail', null, this.head.node, this.pending.node, el('div.detail__columns', null, body, side));
  }

  async load() {
    try {
      await this.history.load(state.range);
    } catch {
      return; // The next connection reads the history again.
    }
    if (!this.ended) this.drawCharts();
  }

  update(pool) {
    later('head', () => this.head.update(pool));
    later('side', () => {
      this.pending.update(pool, serverNow());
      this.tune.update(pool);
      this.actions.update(pool);
      this.special?.update(pool);
    });
    this.follow();
  }

  async follow() {
    if (document.hidden || !this.charts.some((chart) => chart.visible)) return;
    try {
      await this.history.follow();
    } catch {
      return; // The header says that the process does not answer.
    }
    if (!this.ended) this.drawCharts();
  }

  drawCharts() {
    for (const chart of this.charts) chart.show(this.history);
  }

  rebuild() {
    this.charts.forEach((chart) => chart.rebuild());
  }

  end() {
    this.ended = true;
    this.charts.forEach((chart) => chart.destroy());
    ['head', 'side', 'workers', 'recent'].forEach(forget);
    this.alerts.end();
    this.workers.end();
    this.recent.end();
    this.audit.end();
  }
}

/** The name, the state and the figures of a pool. */
class Head {
  constructor(pool, tune) {
    this.chip = new StateChip();
    this.alerts = new AlertChips();
    this.threads = new ThreadGauge(`Threads of ${pool.name}`);
    this.queue = new QueueGauge(`Queue of ${pool.name}`);
    const wait = pool.kind === 'scheduled' ? 'Lateness p99' : 'Wait p99';
    const names = ['Active', 'Waiting', 'Done', wait, 'Run p99', 'Longest run', 'Failed', 'Rejected'];
    this.tiles = names.map((label) => {
      const value = el('dd.tile__value');
      const note = el('dd.tile__note');
      return { node: el('div.tile', null, el('dt', null, label), value, note), value, note };
    });
    this.tiles[0].node.append(el('dd.tile__gauge', null, this.threads.node));
    this.tiles[1].node.append(el('dd.tile__gauge', null, this.queue.node));
    this.lost = el('p.lost', { hidden: true });
    this.node = el(
      'div.detail__head',
      null,
      el(
        'div.detail__title',
        null,
        BACK(),
        el('h1', null, pool.name),
        el('span.card__kind', null, kind(pool.kind)),
        this.chip.node,
        this.alerts.node,
        el('button.button.detail__tune', { type: 'button', click: tune }, icon('sliders'), 'Tune'),
      ),
      el('dl.tiles.tiles--pool', { 'aria-label': 'Figures of the pool' }, ...this.tiles.map((tile) => tile.node)),
      this.lost,
    );
  }

  update(pool) {
    const { threads, queue, tasks, rates, wait, run } = pool;
    this.chip.update(pool);
    this.alerts.update(pool);
    this.threads.update(threads);
    this.queue.update(queue);
    const rows = [
      [
        `${count(threads.active)}`,
        pool.fork_join === null
          ? `of ${count(threads.size)} · core ${count(threads.core)} · ${threads.max === null ? 'no max' : `max ${count(threads.max)}`}`
          : `of ${count(threads.size)} · parallelism ${count(pool.fork_join.parallelism)}`,
      ],
      [
        count(queue.len),
        queue.capacity === null ? 'no bound' : `of ${count(queue.capacity)} · peak ${count(queue.peak)}`,
      ],
      [rate(rates.completed), `${rate(rates.submitted)} submitted`],
      [wait === null ? NONE : seconds(wait.p99), wait === null ? 'nothing in 10 s' : `p50 ${seconds(wait.p50)}`],
      [run === null ? NONE : seconds(run.p99), run === null ? 'nothing in 10 s' : `p50 ${seconds(run.p50)}`],
      [
        seconds(pool.oldest_running_seconds),
        queue.oldest_seconds === null ? 'none waits' : `oldest waits ${seconds(queue.oldest_seconds)}`,
      ],
      [count(tasks.failed), rate(rates.failed)],
      [count(tasks.rejected), rate(rates.rejected)],
    ];
    rows.forEach(([value, note], index) => {
      text(this.tiles[index].value, value);
      text(this.tiles[index].note, note);
    });
    this.tiles[6].node.classList.toggle('is-bad', rates.failed > 0);
    this.tiles[7].node.classList.toggle('is-bad', rates.rejected > 0);
    const lost = ['expired', 'timed_out', 'shed', 'abandoned']
      .filter((key) => tasks[key] > 0)
      .map((key) => `${count(tasks[key])} ${key.replace('_', ' ')}`);
    if (pool.paused_until_ms !== null)
      lost.unshift(`paused for ${span((pool.paused_until_ms - serverNow()) / 1000)} more`);
    show(this.lost, lost.length > 0);
    text(this.lost, lost.join(' · '));
  }
}
