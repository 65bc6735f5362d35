// A sparkline: the last minute as a line with its area, drawn as SVG.
import { svg } from './dom.js';

const WIDTH = 59;
const HEIGHT = 24;

/** A sparkline of a series; it is decoration, the figures beside it say the same in words. */
export class Spark {
  constructor(tone) {
    this.area = svg('path', { class: 'spark__area' });
    this.line = svg('path', { class: 'spark__line' });
    this.node = svg(
      'svg',
      {
        class: `spark spark--${tone}`,
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        'aria-hidden': 'true',
        focusable: 'false',
      },
      this.area,
      this.line,
    );
    this.drawn = '';
  }

  /** Draws values; `top` is the least value that the full height stands for. */
  draw(values, top = 1) {
    const path = line(values, top);
    if (path === this.drawn) return;
    this.drawn = path;
    this.line.setAttribute('d', path);
    this.area.setAttribute('d', path === '' ? '' : `${path}V${HEIGHT}H${start(values)}Z`);
  }
}

const start = (values) => WIDTH - Math.max(0, values.length - 1);

function line(values, top) {
  if (values.length < 2) return '';
  let highest = top;
  for (const value of values) if (value > highest) highest = value;
  const first = start(values);
  const scale = (HEIGHT - 3) / highest;
  let path = '';
  for (let index = 0; index < values.length; index += 1) {
    const y = HEIGHT - 1 - Math.max(0, values[index] ?? 0) * scale;
    path += `${index === 0 ? 'M' : 'L'}${first + index} ${y.toFixed(1)}`;
  }
  return path;
}
