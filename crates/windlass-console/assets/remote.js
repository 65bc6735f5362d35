// The remote queues: engine, queues, workers, one task by its id, and dead letters.
import { read, write } from './api.js';
import { AuditList, isRemote } from './audit.js';
import { later } from './batch.js';
import { attempt, confirmed, unlocked } from './dialog.js';
import { el, KeyedList, set, show, text } from './dom.js';
import { clock, count, seconds, words } from './format.js';
import { icon } from './icons.js';
import { emit, serverNow, state } from './state.js';

const EVERY_MS = 2_000;
const escape = encodeURIComponent;
const QUEUE_COLUMNS = ['Ready', 'Running', 'Scheduled', 'Dead', 'Oldest ready', 'Workers', 'Free slots'];
const WORKER_COLUMNS = ['Queue', 'Host', 'Process', 'Free slots', 'Seen'];

/** Shows the remote section in `main`; the returned function ends it. */
export function showRemote(main) {
  const view = new RemoteView();
  main.replaceChildren(view.node);
  view.follow();
  return () => {
    view.ended = true;
    view.audit.end();
  };
}

function dataTable(title, columns, numbers) {
  const body = el('tbody');
  const id = `remote-${title.replaceAll(' ', '-').toLowerCase()}`;
  const head = columns.map((name, index) =>
    el(numbers.includes(index) ? 'th.is-number' : 'th', { scope: 'col' }, name || el('span.sr-only', null, 'Commands')),
  );
  const empty = el('p.empty', { hidden: true });
  const scroller = el(
    'div.scroller',
    { tabindex: 0, role: 'group', 'aria-labelledby': id },
    el('table.data.data--stack', null, el('thead', null, el('tr', null, ...head)), body),
  );
  return {
    body,
    empty,
    scroller,
    node: el('section.panel', { 'aria-labelledby': id }, el('h2.panel__title', { id }, title), empty, scroller),
  };
}

class RemoteView {
  constructor() {
    this.ended = false;
    this.engine = el('p.remote__engine');
    this.queueTable = dataTable('Queues', ['Queue', ...QUEUE_COLUMNS, ''], [1, 2, 3, 4, 5, 6, 7]);
    this.queues = new KeyedList(this.queueTable.body, {
      key: (queue) => queue.name,
      make: (queue) => this.queueRow(queue),
      update: updateQueue,
    });
    this.workerTable = dataTable('Remote workers', ['Worker', ...WORKER_COLUMNS], [3, 4, 5]);
    this.workers = new KeyedList(this.workerTable.body, {
      key: (worker) => worker.id,
      make: workerRow,
      update: updateWorker,
    });
    this.dead = new DeadLetters();
    this.lookup = new TaskLookup();
    this.audit = new AuditList(isRemote);
    this.node = el(
      'div.remote',
      null,
      el('h1.remote__title', null, 'Remote'),
      this.engine,
      this.queueTable.node,
      el('div.pair', null, this.workerTable.node, this.lookup.node),
      this.dead.node,
      this.audit.node,
    );
  }

  async follow() {
    while (!this.ended) {
      if (!state.held && !document.hidden) await this.refresh();
      await new Promise((resolve) => {
        setTimeout(resolve, EVERY_MS);
      });
    }
  }

  async refresh() {
    try {
      const remote = await read('remote');
      if (!this.ended) later('remote', () => this.draw(remote));
    } catch (error) {
      text(this.engine, error.status === 404 ? 'This program has no remote queues.' : error.message);
    }
  }

  draw({ engine, queues, workers }) {
    emit('engine', engine);
    text(
      this.engine,
      engine.up
        ? `${words(engine.kind)} engine is up${engine.latency_seconds === null ? '' : `, ${seconds(engine.latency_seconds)} a round trip`}`
        : `${words(engine.kind)} engine is down`,
    );
    set(this.engine, 'data-tone', engine.up ? 'ok' : 'bad');
    this.queues.render(queues);
    // Not every engine knows it; a column of dashes says nothing.
    const knowsOldest = queues.some((queue) => queue.oldest_ready_seconds !== null);
    for (const cell of this.queueTable.node.querySelectorAll('tr > :nth-child(6)')) show(cell, knowsOldest);
    this.workers.render(workers);
    show(this.workerTable.empty, workers.length === 0);
    show(this.workerTable.scroller, workers.length > 0);
    text(this.workerTable.empty, 'No worker has been seen.');
    this.dead.choices(queues);
    this.lookup.choices(queues);
  }

  queueRow({ name }) {
    // On a phone there is no head above the cells, and each has its label.
    const cells = QUEUE_COLUMNS.map((label) => el('td.is-number', { 'data-label': label }));
    const row = {
      cells,
      paused: el('span.chip', { 'data-state': 'paused', hidden: true }, icon('pause'), 'paused'),
      alone: el('span.chip', { 'data-state': 'alert', hidden: true }, icon('alert'), 'no worker'),
    };
    row.toggle = el('button.button.button--small', { type: 'button', click: () => this.toggle(row.queue) }, 'Pause');
    row.node = el(
      'tr',
      null,
      el('th', { scope: 'row' }, name, ' ', row.paused, row.alone),
      ...cells,
      el('td', null, row.toggle),
    );
    return row;
  }

  async toggle({ name, paused }) {
    const command = paused ? 'resume' : 'pause';
    if (
      !paused &&
      !(await confirmed({
        title: `Pause the queue ${name}?`,
        lines: ['No worker takes a task of this queue until it is resumed.'],
        confirm: 'Pause',
        danger: true,
      }))
    )
      return;
    if (!(await unlocked())) return;
    await attempt(
      () => write('POST', `remote/queues/${escape(name)}/${command}`),
      () => `${name} ${paused ? 'resumed' : 'paused'}.`,
    );
    await this.refresh();
  }
}

function updateQueue(row, queue) {
  row.queue = queue;
  const ready = queue.ready.reduce((sum, each) => sum + each, 0);
  const values = [
    count(ready),
    count(queue.running),
    count(queue.scheduled),
    count(queue.dead),
    seconds(queue.oldest_ready_seconds),
    count(queue.workers),
    `${count(queue.slots_free)} of ${count(queue.slots)}`,
  ];
  values.forEach((value, index) => text(row.cells[index], value));
  const byPriority = queue.levels.length > 0 ? queue.levels.map((level) => level.ready) : queue.ready;
  set(
    row.cells[0],
    'title',
    byPriority.length > 1 ? `by priority, the highest first: ${byPriority.map(count).join(', ')}` : null,
  );
  row.cells[3].classList.toggle('is-bad', queue.dead > 0);
  show(row.paused, queue.paused);
  show(row.alone, queue.workers === 0 && ready > 0 && !queue.paused);
  text(row.toggle, queue.paused ? 'Resume' : 'Pause');
  set(row.toggle, 'aria-label', `${queue.paused ? 'Resume' : 'Pause'} ${queue.name}`);
}

function workerRow({ id }) {
  const cells = WORKER_COLUMNS.map((label, index) => el(index < 2 ? 'td' : 'td.is-number', { 'data-label': label }));
  return { cells, node: el('tr', null, el('th.is-code', { scope: 'row' }, id), ...cells) };
}

function updateWorker({ cells }, worker) {
  const values = [
    worker.queue,
    worker.host,
    worker.pid,
    `${count(worker.free)} of ${count(worker.slots)}`,
    `${seconds(Math.max(0, serverNow() - worker.seen_ms) / 1000)} ago`,
  ];
  values.forEach((value, index) => text(cells[index], value));
}

/** A select that follows the names of the queues. */
function follow(select, queues) {
  const names = queues.map((queue) => queue.name).join('\n');
  if (select.dataset.names === names) return;
  const chosen = select.value;
  select.dataset.names = names;
  select.replaceChildren(...queues.map(({ name }) => el('option', { value: name }, name)));
  if (queues.some(({ name }) => name === chosen)) select.value = chosen;
}

/** One task by its id. */
class TaskLookup {
  constructor() {
    this.queue = el('select.input', { id: 'task-queue' });
    this.id = el('input.input', { id: 'task-id', autocomplete: 'off', spellcheck: 'false', required: true });
    this.result = el('div.lookup__result', { role: 'status' });
    this.cancel = el(
      'button.button.button--small',
      { type: 'button', hidden: true, click: () => this.doCancel() },
      icon('stop'),
      'Cancel the task',
    );
    const form = el(
      'form.lookup',
      null,
      el('div.field', null, el('label', { for: 'task-queue' }, 'Queue'), this.queue),
      el('div.field', null, el('label', { for: 'task-id' }, 'Task id'), this.id),
      el('button.button', { type: 'submit' }, 'Look up'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.find();
    });
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'lookup-title' },
      el('h2.panel__title', { id: 'lookup-title' }, 'Task by id'),
      form,
      this.result,
      this.cancel,
    );
  }

  choices(queues) {
    follow(this.queue, queues);
  }

  async find() {
    show(this.cancel, false);
    try {
      const task = await read(`remote/tasks/${escape(this.id.value.trim())}?queue=${escape(this.queue.value)}`);
      this.result.replaceChildren(facts(task));
      show(this.cancel, ['scheduled', 'ready', 'running'].includes(task.state));
    } catch (error) {
      this.result.replaceChildren(el('p.empty', null, error.message));
    }
  }

  async doCancel() {
    if (!(await unlocked())) return;
    const path = `remote/tasks/${escape(this.id.value.trim())}/cancel`;
    await attempt(
      () => write('POST', path),
      () => 'The task is told to stop.',
    );
    await this.find();
  }
}

/** Every plain field of an answer, as the server names it. */
function facts(record) {
  const shown = Object.entries(record).filter(
    ([, value]) => value === null || typeof value !== 'object' || Array.isArray(value),
  );
  return el(
    'dl.record',
    null,
    ...shown.map(([name, value]) =>
      el('div', null, el('dt', null, words(name.replace(/_(ms|seconds)$/, ''))), el('dd', null, plain(name, value))),
    ),
  );
}

function plain(name, value) {
  if (value === null) return '–';
  if (name.endsWith('_ms')) return clock(value);
  if (name.endsWith('_seconds')) return seconds(value);
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** Tasks that used up their attempts. */
class DeadLetters {
  constructor() {
    this.queue = el('select.input.input--small', {
      id: 'dead-queue',
      'aria-label': 'Queue of the dead letters',
      change: () => this.load(),
    });
    this.more = el(
      'button.button.button--small',
      { type: 'button', hidden: true, click: () => this.load(this.cursor) },
      'More',
    );
    this.table = dataTable('Dead letters', ['Task', 'Failed', 'Attempts', 'Error', ''], [1, 2]);
    this.list = new KeyedList(this.table.body, {
      key: (task) => task.id,
      make: (task) => this.row(task),
      update: () => undefined,
    });
    this.tasks = [];
    this.node = this.table.node;
    this.node
      .querySelector('h2')
      .after(el('div.dead__tools', null, el('label', { for: 'dead-queue' }, 'Queue'), this.queue, this.more));
  }

  choices(queues) {
    const before = `${this.queue.value} ${this.count}`;
    const isFirst = this.queue.value === '';
    follow(this.queue, queues);
    const dead = queues.find((queue) => queue.dead > 0);
    // Nobody has chosen yet: what needs attention is shown.
    if (isFirst && dead) this.queue.value = dead.name;
    this.count = queues.find(({ name }) => name === this.queue.value)?.dead;
    if (before !== `${this.queue.value} ${this.count}`) this.load();
  }

  async load(cursor) {
    const queue = this.queue.value;
    try {
      const answer = await read(`remote/dead?queue=${escape(queue)}${cursor ? `&cursor=${escape(cursor)}` : ''}`);
      this.tasks = cursor ? [...this.tasks, ...answer.tasks] : answer.tasks;
      this.cursor = answer.next;
      this.draw();
    } catch (error) {
      text(this.table.empty, error.message);
      show(this.table.empty, true);
    }
  }

  draw() {
    this.list.render(this.tasks);
    // Not every engine knows when a task has failed.
    const knowsTimes = this.tasks.some((task) => task.ended_ms !== null);
    for (const cell of this.table.node.querySelectorAll('tr > :nth-child(2)')) show(cell, knowsTimes);
    show(this.more, this.cursor !== null);
    show(this.table.scroller, this.tasks.length > 0);
    show(this.table.empty, this.tasks.length === 0);
    text(this.table.empty, 'No dead letter in this queue.');
  }

  row(task) {
    const retry = el(
      'button.button.button--small',
      { type: 'button', 'aria-label': `Retry ${task.id}`, click: () => this.act(task, 'retry') },
      'Retry',
    );
    const drop = el(
      'button.button.button--small.button--danger',
      { type: 'button', 'aria-label': `Drop ${task.id}`, click: () => this.act(task, 'drop') },
      'Drop',
    );
    return {
      node: el(
        'tr',
        null,
        el(
          'th',
          { scope: 'row' },
          el('span.task-name', null, task.name ?? 'task'),
          el('span.task-message.is-code', null, task.id),
        ),
        el('td.is-number', { 'data-label': 'Failed' }, clock(task.ended_ms)),
        el('td.is-number', { 'data-label': 'Attempts' }, count(task.attempts)),
        el('td', { 'data-label': 'Error' }, task.error ?? '–'),
        el('td', null, el('span.row-buttons', null, retry, drop)),
      ),
    };
  }

  async act(task, command) {
    if (
      command === 'drop' &&
      !(await confirmed({
        title: 'Drop this task?',
        lines: ['It is deleted from the dead letters and never runs again.'],
        confirm: 'Drop',
        danger: true,
      }))
    )
      return;
    if (!(await unlocked())) return;
    const path = `remote/dead/${escape(task.id)}`;
    await attempt(
      () => (command === 'retry' ? write('POST', `${path}/retry`) : write('DELETE', path)),
      () => (command === 'retry' ? 'The task is ready again.' : 'The task is dropped.'),
    );
    await this.load();
  }
}
