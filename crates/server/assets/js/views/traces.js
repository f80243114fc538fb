// The newest traces.

import { api } from '../api.js';
import { h } from '../dom.js';
import { span } from '../text.js';
import { empty, loaded, pill, when } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

// A row that leads to the trace. The task page shows the same.
export function traceRow(row, longest) {
  const trace = typeof row === 'string' ? { id: row, name: row } : row;
  const error = trace.error?.code ?? trace.error;
  return h('li', {}, h('a', { class: 'trace-row', href: `#/traces/${encodeURIComponent(trace.id)}` },
    h('span', { class: 'cut name' }, trace.name, trace.task_id != null && h('span', { class: 'quiet' }, ` #${trace.task_id}`)),
    h('span', { class: 'cut quiet' }, trace.agent ?? ''),
    h('span', { class: 'track' }, h('i', { class: error ? 'bad' : '', vars: { w: `${longest ? Math.max(1, (100 * (trace.duration_ms ?? 0)) / longest) : 0}%` } })),
    h('span', { class: 'num' }, span(trace.duration_ms)),
    h('span', { class: 'verdict' }, error ? pill(error, 'bad') : ''),
    trace.start != null ? when(trace.start) : h('span')));
}

export function traceList(rows) {
  const longest = Math.max(0, ...rows.map((row) => row.duration_ms ?? 0));
  return h('ul', { class: 'panel trace-list' }, rows.map((row) => traceRow(row, longest)));
}

export function traces() {
  const place = h('div');
  const read = () => loaded(place, () => api.traces(), (rows) => (rows.length
    ? traceList(rows)
    : empty('traces', 'No trace yet', h('p', {}, 'Every attempt at a task, and every request to an agent that is served as a model, leaves one: where the time went, what it cost, what failed.'))));
  const again = h('button', { class: 'button', type: 'button', on: { click: read } }, icon('retry'), 'Refresh');
  read();
  return { title: 'Traces', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Traces'), again), place) };
}
