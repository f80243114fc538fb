// A chart with one column for each day.

import { h, svg } from '../dom.js';

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 0.25;
const DAY_MS = 24 * 60 * 60 * 1000;

const dayOf = (time) => new Date(time).toISOString().slice(0, 10);

// Returns the rows by day, with an empty one for each day without calls, the oldest first.
export function everyDay(rows, from, to) {
  const known = new Map(rows.map((row) => [row.key, row]));
  const days = [];
  for (let time = Date.parse(dayOf(from)); time <= to; time += DAY_MS) {
    const key = dayOf(time);
    days.push(known.get(key) ?? { key, calls: 0 });
  }
  return days;
}

// Draws `value` of each day. `format` makes a text of a value.
export function columns(days, value, format, label) {
  const top = Math.max(...days.map(value), 0);
  const step = WIDTH / days.length;
  const shapes = days.map((day, index) => {
    const height = top > 0 ? (HEIGHT * value(day)) / top : 0;
    const column = svg('rect', { x: (index + GAP / 2) * step, y: HEIGHT - height, width: step * (1 - GAP), height, class: 'column' });
    // The area above a short column shows its text, too.
    const area = svg('rect', { x: index * step, y: 0, width: step, height: HEIGHT, class: 'area' });
    return svg('g', { class: 'day', 'data-day': day.key }, svg('title', {}, `${day.key}: ${format(value(day))}`), area, column);
  });
  const total = days.reduce((sum, day) => sum + value(day), 0);
  const text = `${label} for each day from ${days[0].key} to ${days.at(-1).key}: ${format(total)} in total, at most ${format(top)}`;
  return h('figure', { class: 'panel day-chart' },
    h('figcaption', { class: 'small muted' }, `${label} by day, at most ${format(top)}`),
    svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text }, shapes),
    h('p', { class: 'ends tiny muted num', 'aria-hidden': 'true' }, h('span', {}, days[0].key), h('span', {}, days.at(-1).key)));
}
