// Dialogs that ask, and short notices that tell.
import { el } from './dom.js';
import { icon } from './icons.js';
import { session, tryToken } from './session.js';
import { state } from './state.js';

/**
 * Opens a modal dialog and waits for its end. The browser keeps the focus inside it, closes it at
 * Esc, and gives the focus back to what had it before.
 */
function ask({ title, body, confirm, danger, submit }) {
  return new Promise((resolve) => {
    const error = el('p.field__error', { role: 'alert', hidden: true });
    const yes = el(
      danger ? 'button.button.button--danger' : 'button.button.button--primary',
      { type: 'submit' },
      confirm,
    );
    const no = el('button.button', { type: 'button', click: () => dialog.close() }, 'Cancel');
    const form = el(
      'form',
      null,
      el('h2.dialog__title', { id: 'dialog-title' }, title),
      ...body,
      error,
      el('div.dialog__buttons', null, no, yes),
    );
    const dialog = el('dialog.dialog', { 'aria-labelledby': 'dialog-title' }, form);
    let answer = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const refused = submit === undefined ? null : await submit();
      if (refused === null) {
        answer = true;
        dialog.close();
      } else {
        error.textContent = refused;
        error.hidden = false;
      }
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks a question; true if it was confirmed. */
export function confirmed({ title, lines, confirm, danger = false }) {
  return ask({ title, confirm, danger, body: lines.map((line) => el('p', null, line)) });
}

/** Makes sure that changes are allowed: asks for the token unless a right one is known. */
export async function unlocked({ force = false } = {}) {
  if (state.meta?.read_only) {
    notify('This console is read-only: changes are switched off in the program.', 'bad');
    return false;
  }
  if (session.write && !force) return true;
  const input = el('input.input', {
    type: 'password',
    id: 'token',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
  });
  const submit = async () => {
    const right = await tryToken(input.value.trim()).catch(() => null);
    if (right === null) return 'The process does not answer.';
    return right ? null : 'This token is not right.';
  };
  return ask({
    title: 'Unlock changes',
    confirm: 'Unlock',
    submit,
    body: [
      el(
        'p',
        null,
        'Changes need the token that the program printed when its console started. It is kept in this tab only.',
      ),
      el('div.field', null, el('label', { for: 'token' }, 'Token'), input),
    ],
  });
}

const NOTICE_MS = 6_000;

/** Shows a short notice; screen readers read it out. */
export function notify(message, tone = 'ok') {
  const mark = { ok: 'check', bad: 'alert' }[tone];
  const close = el(
    'button.toast__close',
    { type: 'button', 'aria-label': 'Dismiss', click: () => notice.remove() },
    '×',
  );
  const notice = el('div.toast', { 'data-tone': tone }, icon(mark), el('span', null, message), close);
  document.getElementById('toasts').append(notice);
  setTimeout(() => notice.remove(), NOTICE_MS);
}

/** Runs a change and tells how it ended; the answer is null if it failed. */
export async function attempt(work, done) {
  try {
    const answer = await work();
    if (done !== undefined) notify(done(answer));
    return answer;
  } catch (error) {
    notify(error.message, 'bad');
    return null;
  }
}
