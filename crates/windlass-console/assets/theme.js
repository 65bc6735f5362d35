// Dark or light: as the system is, unless the reader chose.
import { emit, keep, recall } from './state.js';

const KEY = 'windlass-theme';
const ORDER = ['system', 'light', 'dark'];
const root = document.documentElement;
apply(recall('localStorage', KEY) ?? 'system');

/** The chosen theme: `system`, `light` or `dark`. */
export function theme() {
  return root.dataset.theme ?? 'system';
}

/** Moves to the next of the three. */
export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  keep('localStorage', KEY, next);
  apply(next);
  changed();
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);

function changed() {
  palette = null;
  emit('theme');
}

function apply(choice) {
  if (choice === 'light' || choice === 'dark') root.dataset.theme = choice;
  else delete root.dataset.theme;
}

const TOKENS = [
  '--muted',
  '--grid',
  ...[1, 2, 3, 4, 5].map((each) => `--series-${each}`),
  ...[1, 2, 3].map((each) => `--series-${each}-soft`),
];
let palette = null;

/** The colours of the theme as canvas understands them; read together, because each reading lays the page out. */
export function readPalette() {
  const probes = TOKENS.map((token) => {
    const probe = document.createElement('span');
    probe.style.color = `var(${token})`;
    probe.hidden = true;
    return probe;
  });
  document.body.append(...probes);
  palette = new Map(probes.map((probe, index) => [TOKENS[index], getComputedStyle(probe).color]));
  for (const probe of probes) probe.remove();
}

/** The colour that a custom property of the charts has at the moment. */
export function colour(token) {
  if (palette === null) readPalette();
  return palette.get(token);
}
