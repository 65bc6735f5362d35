// The slowest tasks of a pool and those that failed last.
import { poolPath, read } from './api.js';
import { later } from './batch.js';
import { el, KeyedList, show, text } from './dom.js';
import { clock, seconds, shortWorker, taskName } from './format.js';
import { icon } from './icons.js';
import { follow } from './state.js';

const EVERY_MS = 3_000;
const OUTCOME = { ok: 'check', failed: 'cross', panicked: 'alert', cancelled: 'stop' };

/** Both lists of a pool; `end` stops their reading. */
export class RecentTasks {
  constructor(name) {
    this.name = name;
    this.ended = false;
    this.slowest = table(name, 'Slowest tasks', 'No task has ended yet.');
    this.failed = table(name, 'Failed tasks', 'No task has failed.', true);
    this.node = el('div.pair', null, this.slowest.node, this.failed.node);
    follow(this, EVERY_MS);
  }

  async refresh() {
    try {
      const { slowest, failed } = await read(poolPath(this.name, 'recent'));
      later('recent', () => {
        this.slowest.render(slowest);
        this.failed.render(failed);
      });
    } catch {
      // The lists keep what they show; the header says that the process does not answer.
    }
  }

  end() {
    this.ended = true;
  }
}

function table(pool, title, none, withMessage = false) {
  const id = `recent-${title.replaceAll(' ', '-').toLowerCase()}`;
  const columns = ['Task', 'Worker', 'Ended', 'Waited', 'Ran', 'Outcome'];
  const body = el('tbody');
  const list = new KeyedList(body, {
    key: (task) => `${task.id} ${task.ended_ms} ${task.thread}`,
    make: (task) => makeRow(task, pool, withMessage),
    update: () => undefined,
  });
  const empty = el('p.empty', null, none);
  const head = columns.map((name, index) => el(index > 1 && index < 5 ? 'th.is-number' : 'th', { scope: 'col' }, name));
  const scroller = el(
    'div.scroller.scroller--short',
    { tabindex: 0, role: 'group', 'aria-labelledby': id },
    el('table.data.data--tasks', null, el('thead', null, el('tr', null, ...head)), body),
  );
  const node = el('section.panel', { 'aria-labelledby': id }, el('h2.panel__title', { id }, title), empty, scroller);
  const render = (tasks) => {
    show(empty, tasks.length === 0);
    show(scroller, tasks.length > 0);
    list.render(tasks);
  };
  render([]);
  return { node, render };
}

function makeRow(task, pool, withMessage) {
  const outcome = el(
    'span.outcome',
    { 'data-outcome': task.outcome },
    icon(OUTCOME[task.outcome] ?? 'dot'),
    el('span'),
  );
  text(outcome.lastChild, task.outcome);
  const name = el('th', { scope: 'row' }, el('span.task-name', null, taskName(task)));
  if (withMessage && task.message !== null) name.append(el('span.task-message', null, task.message));
  return {
    node: el(
      'tr',
      null,
      name,
      el('td.is-code', { title: task.thread ?? null }, shortWorker(task.thread, pool)),
      el('td.is-number', null, clock(task.ended_ms)),
      el('td.is-number', null, seconds(task.wait_seconds)),
      el('td.is-number', null, seconds(task.run_seconds)),
      el('td', null, outcome),
    ),
  };
}
