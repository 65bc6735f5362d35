// The worker strip: one row per worker, what it runs and since when.
import { poolPath, read } from './api.js';
import { later } from './batch.js';
import { el, KeyedList, set, text } from './dom.js';
import { seconds, shortWorker, taskName } from './format.js';
import { follow, state } from './state.js';

const EVERY_MS = 1_000;
const NEW_ROWS = 25;
const ORDER = new Intl.Collator('en', { numeric: true });
/** The bar is logarithmic: from a millisecond to five minutes. */
const SHORTEST = 0.001;
const LONGEST = 300;
const WORDS = { idle: 'idle', running: 'running', slow: 'slow', stuck: 'stuck' };

/** How long a task has run, compared with the runs of its pool. */
export function ageOf(task, pool, stuckSeconds) {
  if (task === null) return 'idle';
  const usual = pool?.run?.p99 ?? null;
  if (task.since_seconds > (stuckSeconds ?? 30) && (usual === null || task.since_seconds > 10 * usual)) return 'stuck';
  return task.since_seconds > Math.max(1, usual === null ? 1 : 2 * usual) ? 'slow' : 'running';
}

/** The strip of a pool; `end` stops its reading. */
export class WorkerStrip {
  constructor(name) {
    this.name = name;
    this.ended = false;
    this.longestFirst = false;
    this.shown = 0;
    this.summary = el('span.panel__note');
    this.rows = el('ul.workers', { tabindex: 0, 'aria-labelledby': 'workers-title' });
    this.list = new KeyedList(this.rows, {
      key: (worker) => worker.key,
      make: makeRow,
      update: (row, worker) => updateRow(row, worker, this.name),
    });
    const order = el(
      'button.button.button--small',
      {
        type: 'button',
        'aria-pressed': 'false',
        click: () => {
          this.longestFirst = !this.longestFirst;
          set(order, 'aria-pressed', String(this.longestFirst));
          if (this.threads !== undefined) this.draw();
        },
      },
      'Longest first',
    );
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'workers-title' },
      el('div.panel__head', null, el('h2.panel__title', { id: 'workers-title' }, 'Workers'), this.summary, order),
      this.rows,
    );
    follow(this, EVERY_MS);
  }

  async refresh() {
    try {
      ({ threads: this.threads } = await read(poolPath(this.name, 'threads')));
      later('workers', () => this.draw());
    } catch {
      // The header says when the process does not answer; the strip keeps its last rows.
    }
  }

  draw() {
    if (this.ended) return;
    const pool = state.pools.get(this.name);
    const stuck = state.thresholds[this.name]?.stuck_seconds;
    // A name is no key: a thread factory may give the same one to every thread.
    const workers = this.threads.map((thread, index) => ({
      ...thread,
      key: thread.id ?? index,
      age: ageOf(thread.task, pool, stuck),
    }));
    const since = ({ task }) => (task === null ? -1 : task.since_seconds);
    workers.sort(
      (one, other) => (this.longestFirst ? since(other) - since(one) : 0) || ORDER.compare(one.name, other.name),
    );
    // The first rows of a large pool come a few at a time, so that no frame makes hundreds.
    this.shown = Math.min(this.shown + NEW_ROWS, workers.length);
    this.list.render(workers.slice(0, this.shown));
    if (this.shown < workers.length) later('workers', () => this.draw());
    const counted = Object.keys(WORDS)
      .map((age) => [age, workers.filter((worker) => worker.age === age).length])
      .filter(([, many]) => many > 0);
    text(
      this.summary,
      workers.length === 0
        ? 'No thread is started.'
        : counted.map(([age, many]) => `${many} ${WORDS[age]}`).join(' · '),
    );
  }

  end() {
    this.ended = true;
  }
}

function makeRow() {
  const row = {
    name: el('span.worker__name'),
    bar: el('span.worker__bar'),
    task: el('span.worker__task'),
    age: el('span.worker__age'),
  };
  row.node = el('li.worker', null, row.name, el('span.worker__track', null, row.bar, row.task), row.age);
  return row;
}

function updateRow(row, { name, task, age }, pool) {
  set(row.node, 'data-age', age);
  text(row.name, shortWorker(name, pool));
  set(row.name, 'title', name);
  const share =
    task === null ? 0 : Math.log(Math.max(task.since_seconds, SHORTEST) / SHORTEST) / Math.log(LONGEST / SHORTEST);
  const scale = `scaleX(${Math.min(1, Math.max(task === null ? 0 : 0.02, share)).toFixed(3)})`;
  if (row.bar.shownScale !== scale) {
    row.bar.shownScale = scale;
    row.bar.style.transform = scale;
  }
  const label = task === null ? '' : taskName(task);
  text(row.task, label);
  set(row.task, 'title', label === '' ? null : label === task.id ? label : `${label}, ${task.id}`);
  text(row.age, task === null ? 'idle' : `${age === 'running' ? '' : `${WORDS[age]} `}${seconds(task.since_seconds)}`);
}
