// Dark or light: as the system is, unless the reader chose.
import { emit } from './state.js';

const KEY = 'windlass-theme';
const ORDER = ['system', 'light', 'dark'];
const root = document.documentElement;
apply(localStorage.getItem(KEY) ?? 'system');

/** The chosen theme: `system`, `light` or `dark`. */
export function theme() {
  return root.dataset.theme ?? 'system';
}

/** Moves to the next of the three. */
export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  localStorage.setItem(KEY, next);
  apply(next);
  emit('theme');
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => emit('theme'));

function apply(choice) {
  if (choice === 'light' || choice === 'dark') root.dataset.theme = choice;
  else delete root.dataset.theme;
}

/** The colour that a custom property has at the moment, as canvas understands it. */
export function colour(property) {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  probe.hidden = true;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
