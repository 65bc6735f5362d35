// Gauge bars: threads with the marks of core and maximum, a queue with its bound.
import { el, set, text } from './dom.js';
import { count } from './format.js';

/** Scales a bar without a new layout of the page. */
function stretch(bar, share) {
  const wanted = `scaleX(${Math.min(1, Math.max(0, share)).toFixed(3)})`;
  if (bar.shownScale === wanted) return;
  bar.shownScale = wanted;
  bar.style.transform = wanted;
}

function place(mark, share) {
  const wanted = `${(Math.min(1, Math.max(0, share)) * 100).toFixed(1)}%`;
  if (mark.shownPlace === wanted) return;
  mark.shownPlace = wanted;
  mark.style.left = wanted;
}

/** Active and started threads on a track from 0 to the maximum, with a mark at the core size. */
export class ThreadGauge {
  constructor(label) {
    this.size = el('span.gauge__fill.gauge__fill--size');
    this.active = el('span.gauge__fill.gauge__fill--active');
    this.core = el('span.gauge__mark');
    this.node = el(
      'span.gauge',
      { role: 'meter', 'aria-label': label, 'aria-valuemin': 0 },
      this.size,
      this.active,
      this.core,
    );
  }

  update({ active, size, core, max, largest }) {
    const top = Math.max(1, max ?? largest, size);
    stretch(this.size, size / top);
    stretch(this.active, active / top);
    place(this.core, (core ?? size) / top);
    set(this.core, 'hidden', core === null || core >= top);
    set(this.node, 'aria-valuenow', Math.min(active, top));
    set(this.node, 'aria-valuemax', top);
    set(
      this.node,
      'aria-valuetext',
      `${active} active, ${size} started, core ${core ?? size}, ${max === null ? 'no maximum' : `maximum ${max}`}`,
    );
    this.node.classList.toggle('gauge--full', max !== null && active >= top);
  }
}

/** The length of a queue on a track up to its bound; an unbounded queue has a dotted track. */
export class QueueGauge {
  constructor(label) {
    this.fill = el('span.gauge__fill.gauge__fill--queue');
    this.peak = el('span.gauge__mark.gauge__mark--peak');
    this.node = el('span.gauge', { role: 'meter', 'aria-label': label, 'aria-valuemin': 0 }, this.fill, this.peak);
  }

  update({ len, peak, capacity }) {
    const bounded = capacity !== null && capacity > 0;
    const top = bounded ? capacity : Math.max(len, peak, 1);
    this.node.classList.toggle('gauge--open', !bounded);
    this.node.classList.toggle('gauge--high', bounded && len / top >= 0.7);
    this.node.classList.toggle('gauge--full', bounded && len >= top);
    stretch(this.fill, bounded ? len / top : 0);
    place(this.peak, peak / top);
    set(this.peak, 'hidden', !bounded || peak <= len);
    set(this.node, 'aria-valuenow', Math.min(len, top));
    set(this.node, 'aria-valuemax', top);
    set(
      this.node,
      'aria-valuetext',
      `${count(len)} waiting${bounded ? ` of ${count(capacity)}` : ', no bound'}, peak ${count(peak)}`,
    );
  }
}

/** `312 / 1,000`, where the second half is quieter. */
export class Fraction {
  constructor() {
    this.first = el('span.fraction__first');
    this.second = el('span.fraction__second');
    this.node = el('span.fraction', null, this.first, this.second);
  }

  update(first, second) {
    text(this.first, first);
    text(this.second, second);
  }
}
