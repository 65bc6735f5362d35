// The icons, as strokes on a grid of 24. They are decoration: a word or a label always stands beside them.
import { el, svg } from './dom.js';

const STROKES = {
  alert: 'M12 4 2.5 20h19zM12 10v4.5M12 17.4v.2',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  back: 'M15 6l-6 6 6 6',
  'bell-off': 'M6 17h12l-1.5-2v-4a4.5 4.5 0 0 0-9 0v4zM10.5 20h3M4 4l16 16',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  broom: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.5l3 2',
  cross: 'M6 6l12 12M18 6 6 18',
  dot: 'M12 6a6 6 0 1 0 0 12 6 6 0 0 0 0-12z',
  half: 'M12 6a6 6 0 0 0 0 12zM12 6a6 6 0 0 1 0 12',
  lock: 'M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3',
  once: 'M5 12h10M11 8l4 4-4 4M19 5v14',
  pause: 'M8.5 6v12M15.5 6v12',
  play: 'M7 5l12 7-12 7z',
  repeat: 'M17 3l3 3-3 3M4 11V9a3 3 0 0 1 3-3h13M7 21l-3-3 3-3M20 13v2a3 3 0 0 1-3 3H4',
  sliders: 'M4 8h9M17 8h3M4 16h3M11 16h9M15 6v4M9 14v4',
  square: 'M7 7h10v10H7z',
  stop: 'M6 6h12v12H6z',
  'theme-dark': 'M20 14.5A8 8 0 1 1 9.5 4 6.5 6.5 0 0 0 20 14.5z',
  'theme-light':
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5',
  'theme-system': 'M4 5h16v11H4zM9 20h6M12 16v4',
  undo: 'M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  unlock: 'M6 11h12v9H6zM9 11V7a3 3 0 0 1 5.8-1',
};
const FILLED = new Set(['dot', 'square']);

/** Makes an icon. */
export function icon(name) {
  const node = el(
    'span.icon',
    { 'aria-hidden': 'true' },
    svg('svg', { viewBox: '0 0 24 24', focusable: 'false' }, svg('path')),
  );
  setIcon(node, name);
  return node;
}

/** Turns an icon into another. */
export function setIcon(node, name) {
  if (node.shownIcon === name) return;
  node.shownIcon = name;
  node.classList.toggle('icon--filled', FILLED.has(name));
  node.firstChild.firstChild.setAttribute('d', STROKES[name] ?? STROKES.dot);
}

/** Puts icons into the places that the HTML has marked with `data-icon`. */
export function hydrateIcons(root) {
  for (const place of root.querySelectorAll('[data-icon]')) place.replaceWith(icon(place.dataset.icon));
}
