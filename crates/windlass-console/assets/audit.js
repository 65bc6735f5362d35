// Who changed what, and when.
import { changeLine } from './changes.js';
import { el, KeyedList, show, text } from './dom.js';
import { clock, words } from './format.js';
import { icon } from './icons.js';
import { on, state } from './state.js';

const REMOTE = /^(remote_|engine_)/;

/** Whether an entry is about the remote queues: a command, or the silence of one of their alerts. */
export function isRemote({ action, detail }) {
  return REMOTE.test(action) || (action === 'silence' && REMOTE.test(detail ?? ''));
}

/** The list of those entries of the audit that `isListed` accepts. */
export class AuditList {
  constructor(isListed) {
    this.isListed = isListed;
    this.rows = el('ol.audit', { tabindex: 0, 'aria-labelledby': 'audit-title' });
    this.empty = el('p.empty', null, 'Nothing has been changed since the program started.');
    this.list = new KeyedList(this.rows, { key: (entry) => entry.id, make: makeRow, update: updateRow });
    this.node = el(
      'section.panel',
      { 'aria-labelledby': 'audit-title' },
      el('h2.panel__title', { id: 'audit-title' }, 'Changes so far'),
      this.empty,
      this.rows,
    );
    this.stop = on('audit', () => this.draw());
    this.draw();
  }

  draw() {
    const entries = state.audit.filter(this.isListed);
    show(this.empty, entries.length === 0);
    this.list.render(entries);
  }

  end() {
    this.stop();
  }
}

function makeRow(entry) {
  const note = el('span.audit__note');
  const action = entry.changes.length > 0 ? changeLine(entry.changes) : words(entry.action);
  const what = entry.detail === null ? action : `${action}: ${entry.detail}`;
  const by = [origin(entry), entry.actor].filter(Boolean).join(', ');
  return {
    note,
    node: el(
      'li.audit__entry',
      null,
      el('time.audit__time', { datetime: new Date(entry.at_ms).toISOString() }, clock(entry.at_ms)),
      el('span.audit__what', null, entry.action === 'revert' ? `Reverted: ${what}` : what, note),
      ...entry.warnings.map((warning) =>
        el('span.audit__warning', null, icon('alert'), el('span.sr-only', null, 'Warning: '), warning),
      ),
      el('span.audit__by', null, by),
    ),
  };
}

/** Only a revert that nobody asked for came by itself. */
function origin({ source, actor }) {
  if (source === 'code') return 'from code';
  return source === 'revert' && actor === null ? 'by itself' : 'from the console';
}

function updateRow(row, entry) {
  const reverted = entry.reverted_ms === null ? '' : ` (reverted ${clock(entry.reverted_ms)})`;
  text(row.note, reverted);
}
