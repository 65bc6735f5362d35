// A list of changed settings: name, old value, new value.
import { el } from './dom.js';
import { field, setting } from './format.js';
import { icon } from './icons.js';

/** `Core threads 4 → 8`, one item per change. */
export function changeList(changes) {
  return el(
    'ul.changes',
    null,
    ...changes.map((change) =>
      el(
        'li.change',
        null,
        el('span.change__field', null, field(change.field)),
        el('span.change__old', null, el('span.sr-only', null, 'from '), setting(change.field, change.old)),
        icon('arrow'),
        el('span.change__new', null, el('span.sr-only', null, 'to '), setting(change.field, change.new)),
      ),
    ),
  );
}

/** The same in one line, for lists. */
export function changeLine(changes) {
  return changes
    .map(
      (change) => `${field(change.field)} ${setting(change.field, change.old)} → ${setting(change.field, change.new)}`,
    )
    .join(', ');
}
