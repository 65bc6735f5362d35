// The tuning form: edit, preview what would change, apply, then keep or revert.
import { poolPath, write } from './api.js';
import { changeList } from './changes.js';
import { attempt, confirmed, notify, unlocked } from './dialog.js';
import { el, set, show, text } from './dom.js';
import { field, setting } from './format.js';
import { icon } from './icons.js';
import { state } from './state.js';

const ALL = ['core', 'max', 'capacity', 'keep_alive_seconds', 'policy', 'allow_core_timeout'];
const REVERTS = [
  [10, 'in 10 s'],
  [30, 'in 30 s'],
  [60, 'in 1 min'],
  [300, 'in 5 min'],
  [900, 'in 15 min'],
  [0, 'never'],
];

/** The form of a pool. Fields that the reader has not touched follow the pool. */
export class TuneForm {
  constructor(pool) {
    this.name = pool.name;
    this.inputs = new Map();
    this.errors = new Map();
    this.preview = null; // what the server said to the edited fields, until they are edited again
    this.fields = el('div.tune__fields', null, ...this.rows(pool));
    this.problem = el('p.field__error', { role: 'alert', hidden: true });
    this.submit = el('button.button.button--primary', { type: 'submit' }, 'Preview change');
    this.reset = el('button.button', { type: 'button', click: () => this.forget(), hidden: true }, 'Discard edits');
    this.form = el(
      'form.tune',
      { 'aria-labelledby': 'tune-title', novalidate: true },
      this.fields,
      this.problem,
      el('div.tune__buttons', null, this.submit, this.reset),
    );
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.ask();
    });
    this.form.addEventListener('input', () => this.edited());
    this.previewPlace = el('div.preview', {
      hidden: true,
      tabindex: -1,
      role: 'group',
      'aria-label': 'Preview of the change',
    });
    this.readOnly = el('p.note', { hidden: true }, icon('lock'), 'This console is read-only.');
    this.node = el(
      'section.panel.panel--tune',
      { 'aria-labelledby': 'tune-title' },
      el('h2.panel__title', { id: 'tune-title' }, 'Tune'),
      this.readOnly,
      this.form,
      this.previewPlace,
    );
  }

  /** Brings the form into sight and puts the focus into its first field. */
  focus() {
    this.node.scrollIntoView({ block: 'nearest' });
    this.form.querySelector('input:enabled, select:enabled')?.focus();
  }

  rows(pool) {
    const shown = pool.tunable.includes('parallelism') ? ['parallelism'] : ALL;
    return shown.map((name) => (pool.tunable.includes(name) ? this.row(name, pool) : this.fixed(name, pool)));
  }

  row(name, pool) {
    const id = `tune-${name}`;
    const input = makeInput(name, id, pool);
    const was = el('span.field__was', { hidden: true });
    const error = el('span.field__error', { id: `${id}-error`, hidden: true });
    this.inputs.set(name, { input, was });
    this.errors.set(name, error);
    this.follow(name, pool);
    const unit = name === 'keep_alive_seconds' ? el('span.field__unit', null, 's') : null;
    const control = el('span.field__with-unit', null, input, unit);
    const hint = name === 'capacity' ? el('span.field__aside', null, ' (empty: no bound)') : null;
    return el('div.field.field--row', null, el('label', { for: id }, field(name), hint, was), control, error);
  }

  /** A setting that this pool cannot change is shown, with the reason. */
  fixed(name, pool) {
    const reason =
      name === 'capacity' && pool.config.capacity !== null
        ? 'this queue has a fixed size'
        : name === 'max' && pool.kind === 'scheduled'
          ? 'a scheduled pool uses core threads only'
          : 'fixed';
    this.inputs.set(name, { output: el('output.field__fixed'), reason });
    return el('div.field.field--row.is-fixed', null, el('span', null, field(name)), this.inputs.get(name).output);
  }

  follow(name, pool) {
    const { input, output, reason } = this.inputs.get(name);
    const value = pool.config[name];
    if (output !== undefined) {
      text(output, value === null && name !== 'capacity' ? reason : `${setting(name, value)}`);
      set(output, 'title', reason);
      return;
    }
    const touched = input.dataset.known !== undefined && read(input) !== input.dataset.known;
    input.dataset.known = value === null ? '' : String(value);
    if (touched || input === document.activeElement) return;
    if (input.type === 'checkbox') input.checked = value === true;
    else input.value = input.dataset.known;
  }

  update(pool) {
    for (const name of this.inputs.keys()) this.follow(name, pool);
    const locked = state.meta?.read_only === true || pool.state === 'terminated';
    show(this.readOnly, state.meta?.read_only === true);
    for (const { input } of this.inputs.values())
      if (input !== undefined && input.disabled !== locked) input.disabled = locked;
    if (this.submit.disabled !== locked) this.submit.disabled = locked;
    this.mark();
  }

  /** The fields that differ from the pool, as the API wants them. */
  changes() {
    const changes = {};
    for (const [name, { input }] of this.inputs) {
      if (input === undefined || read(input) === input.dataset.known) continue;
      if (input.type === 'checkbox') changes[name] = input.checked;
      else if (input.type === 'number') changes[name] = input.value === '' ? null : Number(input.value);
      else changes[name] = input.value;
    }
    return changes;
  }

  mark() {
    const changed = this.changes();
    for (const [name, { input, was }] of this.inputs) {
      if (input === undefined) continue;
      show(was, name in changed);
      text(was, `now ${known(name, input)}`);
    }
    show(this.reset, Object.keys(changed).length > 0);
  }

  edited() {
    this.complain(null);
    this.close();
    this.mark();
  }

  forget() {
    const pool = state.pools.get(this.name);
    for (const { input } of this.inputs.values()) if (input !== undefined) delete input.dataset.known;
    if (pool !== undefined) for (const name of this.inputs.keys()) this.follow(name, pool);
    this.edited();
  }

  complain(message, name) {
    for (const [each, error] of this.errors) {
      const here = each === name;
      show(error, here);
      text(error, here ? message : '');
      set(this.inputs.get(each).input, 'aria-invalid', here ? 'true' : null);
      set(this.inputs.get(each).input, 'aria-describedby', here ? error.id : null);
    }
    const elsewhere = message !== null && !this.errors.has(name);
    show(this.problem, elsewhere);
    text(this.problem, elsewhere ? message : '');
    if (message !== null) this.inputs.get(name)?.input?.focus();
  }

  async ask(force = false) {
    const changes = this.changes();
    // What is no number reads as an empty field, and an empty capacity is one that has no bound.
    for (const [name, { input }] of this.inputs)
      if (input?.validity.badInput) return this.complain(`${field(name)} is a number.`, name);
    if (Object.keys(changes).length === 0) return this.complain('Nothing is changed yet: edit a field first.');
    if (!(await unlocked())) return undefined;
    const { version } = state.pools.get(this.name) ?? {};
    try {
      const answer = await write('PATCH', poolPath(this.name, 'config'), { ...changes, dry_run: true, force }, version);
      this.complain(null);
      return this.open({ changes, force, version, answer });
    } catch (error) {
      return this.refused(error, changes, force);
    }
  }

  async refused(error, changes, force) {
    const pool = state.pools.get(this.name);
    if (error.code === 'outside_limits' && !force && insideLimits(changes, pool)) {
      const lines = [
        error.message,
        'Large steps are refused unless you insist, because a slip of the finger looks like one.',
      ];
      if (await confirmed({ title: 'A very large step', lines, confirm: 'Change it anyway', danger: true }))
        await this.ask(true);
      return;
    }
    this.complain(advice(error), error.field);
  }

  open(preview) {
    this.preview = preview;
    const { changes, warnings } = preview.answer;
    const revert = el(
      'select.input.input--small',
      { id: 'revert-after' },
      ...REVERTS.map(([value, label]) => el('option', { value }, label)),
    );
    revert.value = '60';
    const apply = el(
      'button.button.button--primary',
      { type: 'button', id: 'apply', click: () => this.apply(Number(revert.value)) },
      'Apply',
    );
    this.previewPlace.replaceChildren(
      el('h3.preview__title', null, changes.length === 0 ? 'Nothing would change' : 'This would change'),
      changeList(changes),
      ...warnings.map((warning) =>
        el('p.warning', null, icon('alert'), el('span', null, el('span.sr-only', null, 'Warning: '), warning)),
      ),
      el(
        'div.preview__apply',
        { hidden: changes.length === 0 },
        el('label', { for: 'revert-after' }, 'Revert by itself'),
        revert,
        apply,
      ),
    );
    show(this.previewPlace, true);
    this.previewPlace.focus();
  }

  close() {
    this.preview = null;
    show(this.previewPlace, false);
  }

  async apply(revertAfter) {
    const { changes, force, version } = this.preview;
    const body = { ...changes, force, dry_run: false };
    if (revertAfter > 0) body.revert_after_seconds = revertAfter;
    try {
      const answer = await write('PATCH', poolPath(this.name, 'config'), body, version);
      notify(
        answer.revert_at_ms === null ? 'Applied.' : 'Applied. Keep it before the time is up, or it reverts by itself.',
      );
      this.close();
      this.settle(answer.changes);
      this.submit.focus();
    } catch (error) {
      this.close();
      this.complain(advice(error), error.field);
    }
  }

  /** What was applied is no longer an edit. */
  settle(changes) {
    for (const change of changes) {
      const input = this.inputs.get(change.field)?.input;
      if (input !== undefined) input.dataset.known = change.new === null ? '' : String(change.new);
    }
    this.mark();
  }
}

function makeInput(name, id, pool) {
  if (name === 'policy')
    return el('select.input', { id }, ...policies(pool).map((value) => el('option', { value }, setting(name, value))));
  if (name === 'allow_core_timeout') return el('input.check', { id, type: 'checkbox' });
  const [least, most] = pool.limits?.[name] ?? [name === 'core' || name === 'keep_alive_seconds' ? 0 : 1, null];
  return el('input.input.input--number', {
    id,
    type: 'number',
    inputmode: 'decimal',
    min: least,
    max: most,
    step: name === 'keep_alive_seconds' ? 'any' : 1,
    placeholder: name === 'capacity' ? setting(name, null) : null,
    autocomplete: 'off',
  });
}

function policies({ config }) {
  return config.policies.includes(config.policy) || config.policy === null
    ? config.policies
    : [config.policy, ...config.policies];
}

const read = (input) => (input.type === 'checkbox' ? String(input.checked) : input.value);

function known(name, input) {
  const value = input.dataset.known;
  if (value === '') return setting(name, null);
  if (input.type === 'checkbox') return setting(name, value === 'true');
  return setting(name, input.type === 'number' ? Number(value) : value);
}

/** Another preview helps where somebody else was faster, and not where the field itself is refused. */
function advice(error) {
  return error.status === 409 && error.field === null ? `${error.message} Preview again.` : error.message;
}

function insideLimits(changes, pool) {
  return Object.entries(changes).every(([name, value]) => {
    const limits = pool?.limits?.[name];
    if (limits === undefined || limits === null) return true;
    return value !== null && value >= limits[0] && value <= limits[1];
  });
}

/** The change that reverts by itself: a countdown, and the two ways out. */
export class PendingChange {
  constructor(name) {
    this.name = name;
    this.left = el('strong.pending__left');
    this.what = el('span.pending__what');
    const keep = el(
      'button.button.button--primary',
      { type: 'button', click: () => this.send('confirm', 'The change is kept.') },
      icon('check'),
      'Keep the change',
    );
    const revert = el(
      'button.button',
      { type: 'button', click: () => this.send('revert', 'The change is reverted.') },
      icon('undo'),
      'Revert now',
    );
    this.node = el(
      'section.pending',
      { 'aria-label': 'Change on trial', hidden: true },
      icon('clock'),
      el('p.pending__text', null, this.what, ' reverts in ', this.left),
      el('div.pending__buttons', null, keep, revert),
    );
    this.shown = '';
  }

  update(pool, nowMs) {
    const pending = pool.pending_revert;
    show(this.node, pending !== null);
    if (pending === null) return;
    text(this.left, `${Math.max(0, Math.ceil((pending.at_ms - nowMs) / 1000))} s`);
    const line = pending.changes
      .map(
        (change) =>
          `${field(change.field)} ${setting(change.field, change.old)} → ${setting(change.field, change.new)}`,
      )
      .join(', ');
    text(this.what, line);
  }

  async send(command, done) {
    if (await unlocked())
      await attempt(
        () => write('POST', poolPath(this.name, command)),
        () => done,
      );
  }
}
