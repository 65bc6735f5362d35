// The charts of a pool: what each shows, and a figure around uPlot that shows it.
import { forget, later } from './batch.js';
import { el, show, svg, text } from './dom.js';
import { clock, count, NONE, rate, seconds } from './format.js';
import { NO_BOUND } from './state.js';
import { colour } from './theme.js';

const { uPlot } = globalThis;
const HEIGHT = 172;
/** The width of the labels at the left, and of the free edge at the right. */
const AXIS = 56;
const EDGE = 12;
/** How much of a chart stays free above its highest value. */
const HEADROOM = 1.06;
const MOST_LABELS = 4;
/** The least distance between two labels of the time, in pixels. */
const LABEL_SPACE = 72;
/** The steps between labels of the time, in seconds. */
const TIME_STEPS = [10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600];
const DASHES = { solid: [], dash: [7, 4], dot: [2, 3], long: [12, 4, 2, 4] };
const line = (key, label, tone, dash = 'solid', more = {}) => ({ key, label, tone, dash, ...more });
const percentiles = (of) => [
  line(`${of}_p50`, 'p50', '--series-1'),
  line(`${of}_p90`, 'p90', '--series-2', 'dash'),
  line(`${of}_p99`, 'p99', '--series-4', 'long'),
];

const CHARTS = {
  threads: {
    title: 'Threads',
    format: count,
    step: true,
    lines: [
      line('active', 'active', '--series-1', 'solid', { fill: '--series-1-soft', width: 2 }),
      line('size', 'started', '--series-2'),
      line('core', 'core', '--series-3', 'dash'),
      line('max', 'max', '--series-4', 'dot'),
    ],
  },
  queue: {
    title: 'Queue',
    format: count,
    band: ['queue_peak', 'queue'],
    lines: [
      line('queue', 'waiting', '--series-1', 'solid', { width: 2 }),
      line('queue_peak', 'peak', '--series-2', 'dot', { width: 1 }),
      line('capacity', 'bound', '--series-4', 'dash'),
    ],
  },
  rates: {
    title: 'Tasks per second',
    format: rate,
    lines: [
      line('completed', 'done', '--series-3', 'solid', { fill: '--series-3-soft', width: 2 }),
      line('submitted', 'submitted', '--series-1'),
      line('failed', 'failed', '--series-4', 'dash'),
      line('rejected', 'rejected', '--series-5', 'dot', { width: 2 }),
    ],
  },
  wait: { title: 'Wait before the start', format: seconds, log: true, lines: percentiles('wait') },
  // The wait of a scheduled task counts from when it was due.
  lateness: { title: 'Lateness of the start', format: seconds, log: true, lines: percentiles('wait') },
  run: { title: 'Run time', format: seconds, log: true, lines: percentiles('run') },
  steals: {
    title: 'Steals per second',
    format: rate,
    lines: [line('steals', 'steals', '--series-2', 'solid', { fill: '--series-2-soft', width: 2 })],
  },
};

/** The charts that suit a kind of pool. */
export function chartsOf(kind) {
  const common = ['threads', 'queue', 'rates', kind === 'scheduled' ? 'lateness' : 'wait', 'run'];
  return kind === 'fork_join' ? [...common, 'steals'] : common;
}

/** One chart with its title, its legend with values, and a description in words. */
export class Chart {
  constructor(name) {
    this.definition = CHARTS[name];
    this.plot = null;
    this.place = el('div.chart__plot', { role: 'img', 'aria-label': this.definition.title });
    this.none = el('p.chart__none', { hidden: true }, 'Nothing measured in this range');
    this.values = this.definition.lines.map(() => el('span.legend__value'));
    const legend = el(
      'ul.legend',
      null,
      ...this.definition.lines.map((each, index) =>
        el('li.legend__item', null, swatch(each), el('span', null, each.label), this.values[index]),
      ),
    );
    this.node = el(
      'figure.chart',
      { 'data-chart': name },
      el('figcaption.chart__head', null, el('span.chart__title', null, this.definition.title), legend),
      el('div.chart__frame', null, this.place, this.none),
    );
    this.sizes = new ResizeObserver(([entry]) => this.resize(Math.floor(entry.contentRect.width)));
    this.sizes.observe(this.place);
    this.visible = false;
    this.sight = new IntersectionObserver(([entry]) => this.seen(entry.isIntersecting), { rootMargin: '200px' });
    this.sight.observe(this.node);
  }

  resize(width) {
    if (width === 0 || width === this.width) return;
    this.width = width;
    if (this.plot !== null) this.plot.setSize({ width, height: HEIGHT });
    else this.show();
  }

  seen(visible) {
    this.visible = visible;
    if (visible) this.show();
  }

  /** Shows a history in one of the next frames; a chart out of sight waits until it is scrolled to. */
  show(history = this.history) {
    this.history = history;
    if (this.visible && this.history !== undefined && this.width !== undefined)
      later(this, () => this.draw(this.history));
  }

  draw(history) {
    const end = history.times.at(-1) ?? Date.now() / 1000;
    this.window = [end - history.range, end];
    const { log } = this.definition;
    this.data = [history.times, ...this.definition.lines.map(({ key }) => shown(history.values(key), log, key))];
    this.describe(history.range);
    if (this.plot === null) this.plot = new uPlot(this.options(), this.data, this.place);
    else this.plot.setData(this.data);
  }

  /** Builds the plot anew, for another theme. */
  rebuild() {
    this.plot?.destroy();
    this.plot = null;
    this.show();
  }

  destroy() {
    forget(this);
    this.sizes.disconnect();
    this.sight.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  describe(range) {
    const { lines, title, format } = this.definition;
    let measured = false;
    const parts = lines
      .map(({ label }, index) => {
        const found = extremes(this.data[index + 1]);
        if (found === null) return null;
        measured = true;
        return `${label} now ${format(found.last)}, between ${format(found.least)} and ${format(found.most)}`;
      })
      .filter((part) => part !== null);
    show(this.none, !measured);
    const description = `${title}, last ${range >= 86_400 ? '24 hours' : `${range / 60} minutes`}: ${measured ? parts.join('; ') : 'nothing measured'}.`;
    this.place.setAttribute('aria-label', description);
    if (this.plot === null || this.plot.cursor.idx === null || this.plot.cursor.idx === undefined) this.legend(null);
  }

  /** Shows the values at a point, or the newest. */
  legend(index) {
    const { format } = this.definition;
    this.values.forEach((value, each) => {
      const series = this.data[each + 1];
      const at = index ?? series.length - 1;
      text(value, series[at] === null || series[at] === undefined ? NONE : format(series[at]));
    });
  }

  options() {
    const { lines, log, step, band } = this.definition;
    const paths = step ? uPlot.paths.stepped({ align: 1 }) : undefined;
    const series = lines.map(({ label, tone, dash, fill, width = 1.5 }) => ({
      label,
      stroke: colour(tone),
      fill: fill === undefined ? undefined : colour(fill),
      dash: DASHES[dash],
      width,
      paths,
      points: { show: false },
    }));
    const at = (key) => 1 + lines.findIndex((each) => each.key === key);
    return {
      width: this.width,
      height: HEIGHT,
      legend: { show: false },
      padding: [8, EDGE, 0, 0],
      series: [{}, ...series],
      bands: band === undefined ? [] : [{ series: band.map(at), fill: colour('--series-2-soft') }],
      scales: {
        x: { time: true, range: () => this.window },
        y: log ? { distr: 3, range: decades } : { range: fromZero },
      },
      axes: this.axes(),
      cursor: { sync: { key: 'windlass' }, drag: { x: false, y: false }, points: { size: 6 } },
      hooks: { setCursor: [(plot) => this.legend(plot.cursor.idx ?? null)] },
    };
  }

  /** The step between two labels of the time: the least that leaves room for them. */
  timeStep() {
    const [from, to] = this.window;
    const most = Math.max(2, Math.floor((this.width - AXIS - EDGE) / LABEL_SPACE));
    return TIME_STEPS.find((step) => (to - from) / step <= most) ?? TIME_STEPS.at(-1);
  }

  /** The times that have a label; none so near to the end that it would be cut off. */
  times() {
    const [from, to] = this.window;
    const end = to - ((to - from) * EDGE) / (this.width - AXIS - EDGE);
    return timesBetween(from, end, this.timeStep());
  }

  axes() {
    const { format, log } = this.definition;
    const ink = {
      stroke: colour('--muted'),
      font: '11px system-ui, sans-serif',
      ticks: { show: false },
      grid: { stroke: colour('--grid'), width: 1 },
    };
    const time = {
      splits: () => this.times(),
      values: (_, splits) => splits.map((split) => clock(split * 1000).slice(0, this.timeStep() < 60 ? 8 : 5)),
    };
    const y = {
      ...ink,
      size: AXIS,
      gap: 6,
      values: (_, splits) => splits.map((split) => (split === null ? '' : format(split))),
    };
    if (log) Object.assign(y, { splits: (plot, _, least, most) => powers(least, most), filter: (_, splits) => splits });
    else y.splits = (plot, _, least, most) => steps(most / HEADROOM);
    return [{ ...ink, ...time, size: 26, gap: 4 }, y];
  }
}

function swatch({ tone, dash }) {
  return svg(
    'svg',
    { class: `swatch swatch${tone.replace('--series', '')}`, viewBox: '0 0 22 8', 'aria-hidden': 'true' },
    svg('path', { d: 'M1 4H21', 'stroke-dasharray': DASHES[dash].map((each) => each * 0.8).join(' ') || 'none' }),
  );
}

/** A logarithm has no zero; a maximum that nobody can reach would flatten the rest. */
function shown(values, log, key) {
  if (log) return values.map((value) => (value === null || value <= 0 ? null : value));
  return key === 'max' ? values.map((value) => (value >= NO_BOUND ? null : value)) : values;
}

function extremes(values) {
  let least = Infinity;
  let most = -Infinity;
  let last = null;
  for (const value of values) {
    if (value === null) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    last = value;
  }
  return last === null ? null : { least, most, last };
}

function fromZero(_, __, most) {
  return [0, Math.max(1, most ?? 1) * HEADROOM];
}

/** Round numbers from zero up to `most`, a few of them. */
function steps(most) {
  const least = (most * 0.999) / MOST_LABELS;
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
  return Array.from({ length: Math.floor((most * 1.001) / step) + 1 }, (_, index) => index * step);
}

/** The times between two that are whole steps of the day. */
function timesBetween(from, to, step) {
  const zone = new Date(to * 1000).getTimezoneOffset() * 60;
  const found = [];
  for (let time = Math.ceil((from - zone) / step) * step + zone; time <= to; time += step) found.push(time);
  return found;
}

function decades(_, least, most) {
  if (least === null || most === null) return [1e-6, 1];
  const low = Math.floor(Math.log10(least));
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(most)))];
}

function powers(least, most) {
  const found = [];
  for (let power = Math.round(Math.log10(least)); power <= Math.round(Math.log10(most)); power += 1)
    found.push(10 ** power);
  const every = Math.ceil(found.length / 5);
  return found.filter((_, index) => index % every === 0);
}
