// Commands on a pool: pause, resume, prestart, purge, shut down.
import { poolPath, write } from './api.js';
import { attempt, confirmed, unlocked } from './dialog.js';
import { el, show, text } from './dom.js';
import { span } from './format.js';
import { icon } from './icons.js';
import { serverNow, state } from './state.js';

const PAUSES = [
  [30, '30 s'],
  [60, '1 min'],
  [300, '5 min'],
  [900, '15 min'],
];

/** The panel of commands. */
export class Actions {
  constructor({ name, kind }) {
    this.name = name;
    // A fork-join pool has none of the commands; a button that is always refused helps nobody.
    this.obeys = kind !== 'fork_join';
    this.length = el(
      'select.input.input--small',
      { id: 'pause-length' },
      ...PAUSES.map(([value, label]) => el('option', { value }, label)),
    );
    this.length.value = '60';
    this.pause = this.button('pause', 'Pause', () => this.doPause());
    this.resume = this.button('play', 'Resume now', () => this.send('resume', {}, () => 'The pool runs tasks again.'));
    this.until = el('span.actions__until');
    const purge = this.button('broom', 'Purge cancelled', () => this.doPurge());
    const prestart = this.button('bolt', 'Start core threads', () =>
      this.send('prestart', {}, ({ started }) => `${started} threads started.`),
    );
    this.pauseRow = el(
      'div.actions__row',
      null,
      this.pause,
      el('label.actions__for', { for: 'pause-length' }, 'for'),
      this.length,
    );
    this.resumeRow = el('div.actions__row', { hidden: true }, this.resume, this.until);
    this.shutdown = this.button('stop', 'Shut down', () => this.doShutdown());
    this.shutdown.classList.add('button--danger');
    this.shutdownRow = el('div.actions__row', { hidden: true }, this.shutdown);
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'actions-title' },
      el('h2.panel__title', { id: 'actions-title' }, 'Commands'),
      this.pauseRow,
      this.resumeRow,
      el('div.actions__row', { hidden: !this.obeys }, prestart, purge),
      this.shutdownRow,
    );
  }

  button(mark, label, click) {
    return el('button.button', { type: 'button', click }, icon(mark), label);
  }

  update(pool) {
    const paused = pool.paused_until_ms !== null;
    show(this.pauseRow, this.obeys && !paused);
    show(this.resumeRow, this.obeys && paused);
    // The program has to allow it; without that the server refuses, and the page does not offer it.
    const mayEnd = state.meta?.allow_shutdown === true && pool.state === 'running';
    show(this.shutdownRow, mayEnd);
    show(this.node, this.obeys || mayEnd);
    if (paused) text(this.until, `resumes by itself in ${span((pool.paused_until_ms - serverNow()) / 1000)}`);
  }

  async doPause() {
    const chosen = Number(this.length.value);
    const label = PAUSES.find(([value]) => value === chosen)[1];
    const lines = [
      `Workers finish what they run and start nothing new. Tasks are still accepted and wait. After ${label} the pool resumes by itself.`,
    ];
    if (await confirmed({ title: `Pause ${this.name} for ${label}?`, lines, confirm: 'Pause', danger: true })) {
      await this.send('pause', { seconds: chosen }, () => `Paused for ${label}.`);
    }
  }

  async doPurge() {
    const lines = ['Cancelled tasks that still stand in the queue are removed. Nothing that would run is touched.'];
    if (await confirmed({ title: `Purge ${this.name}?`, lines, confirm: 'Purge' })) {
      await this.send('purge', {}, ({ removed }) => `${removed} cancelled tasks removed.`);
    }
  }

  async doShutdown() {
    const lines = [
      'The pool takes no more tasks. What it has accepted still runs, then its threads end. This cannot be undone.',
    ];
    if (await confirmed({ title: `Shut ${this.name} down?`, lines, confirm: 'Shut down', danger: true })) {
      await this.send('shutdown', {}, () => `${this.name} is shutting down.`);
    }
  }

  async send(command, body, done) {
    if (await unlocked()) await attempt(() => write('POST', poolPath(this.name, command), body), done);
  }
}
