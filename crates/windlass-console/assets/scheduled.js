// What only scheduled and fork-join pools have: the next runs, the stealing.
import { el, KeyedList, show, text } from './dom.js';
import { count, rate, seconds, taskName } from './format.js';
import { icon } from './icons.js';

function facts(names) {
  const values = names.map(() => el('dd'));
  const node = el(
    'dl.inline-facts',
    null,
    ...names.map((name, index) => el('div', null, el('dt', null, name), values[index])),
  );
  return { node, update: (shown) => shown.forEach((each, index) => text(values[index], each)) };
}

/** The next runs of a scheduled pool, and its overruns. Their lateness is the wait, which stands above. */
export class NextRuns {
  constructor() {
    this.facts = facts(['Waiting', 'Periodic', 'Overruns']);
    this.body = el('tbody');
    this.empty = el('p.empty', null, 'Nothing is scheduled.');
    this.list = new KeyedList(this.body, {
      key: (run) => run.id,
      make: makeRun,
      update: (row, run) => text(row.due, run.in_seconds <= 0 ? 'due' : `in ${seconds(run.in_seconds)}`),
    });
    const head = [
      el('th', { scope: 'col' }, 'Task'),
      el('th', { scope: 'col' }, 'Kind'),
      el('th.is-number', { scope: 'col' }, 'Next run'),
    ];
    this.scroller = el(
      'div.scroller.scroller--short',
      { tabindex: 0, role: 'group', 'aria-labelledby': 'runs-title' },
      el('table.data', null, el('thead', null, el('tr', null, ...head)), this.body),
    );
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'runs-title' },
      el('h2.panel__title', { id: 'runs-title' }, 'Next runs'),
      this.facts.node,
      this.empty,
      this.scroller,
    );
  }

  update({ scheduled }) {
    this.facts.update([count(scheduled.queued), count(scheduled.periodic), count(scheduled.overruns)]);
    show(this.empty, scheduled.next.length === 0);
    show(this.scroller, scheduled.next.length > 0);
    this.list.render(scheduled.next);
  }
}

function makeRun(run) {
  const due = el('td.is-number');
  const kind = el(
    'td',
    null,
    el('span.outcome', null, icon(run.periodic ? 'repeat' : 'once'), run.periodic ? 'periodic' : 'once'),
  );
  return { due, node: el('tr', null, el('th', { scope: 'row' }, taskName(run)), kind, due) };
}

/** The stealing of a fork-join pool. */
export class Stealing {
  constructor() {
    this.facts = facts(['Parallelism', 'Running', 'Queued', 'Submissions', 'Delayed', 'Steals', 'Steal rate']);
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'steal-title' },
      el('h2.panel__title', { id: 'steal-title' }, 'Work stealing'),
      this.facts.node,
    );
  }

  update({ fork_join: pool }) {
    this.facts.update([
      count(pool.parallelism),
      count(pool.running),
      count(pool.queued),
      count(pool.submissions),
      count(pool.delayed),
      count(pool.steals),
      rate(pool.steal_rate),
    ]);
  }
}
