// The newest traces.

import { api } from '../api.js';
import { h } from '../dom.js';
import { state } from '../store.js';
import { count, formatCost, formatDuration, tokens } from '../text.js';
import { emptyState, loadInto, pill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

const ATTEMPT = /^attempt(?: #?(\d+))?$/;

// The title of the task, with the attempt that the trace is of; or the name of the trace.
function traceName(trace) {
  const title = trace.task_id != null && state.tasks.get(trace.task_id)?.title;
  const attempt = trace.attempt ?? trace.name?.match(ATTEMPT)?.[1];
  if (!title) return [trace.name, trace.task_id != null && h('span', { class: 'muted' }, ` #${trace.task_id}`)];
  return [h('span', { class: 'muted num' }, `#${trace.task_id} `), title, attempt > 1 && h('span', { class: 'muted' }, `, attempt ${attempt}`)];
}

function outcome(trace) {
  const error = trace.error?.code ?? trace.error;
  if (error) return pill(error, 'bad');
  if (trace.outcome) return pill(trace.outcome, OUTCOME_TONE[trace.outcome] ?? 'none');
  return pill('ok', 'good');
}

const OUTCOME_TONE = { completed: 'good', failed: 'bad', blocked: 'warn', lost: 'bad' };

// Renders a row that links to the trace. Also used by the task page.
export function traceRow(row, longest) {
  const trace = typeof row === 'string' ? { id: row, name: row } : row;
  const used = tokens(trace.usage);
  return h('li', {}, h('a', { class: 'trace-row', href: `#/traces/${encodeURIComponent(trace.id)}` },
    h('span', { class: 'truncate name' }, traceName(trace)),
    h('span', { class: 'status' }, outcome(trace)),
    h('span', { class: 'truncate muted agent' }, trace.agent ?? ''),
    h('span', { class: 'track' }, h('i', { class: trace.error ? 'bad' : '', vars: { w: `${longest ? Math.max(1, (100 * (trace.duration_ms ?? 0)) / longest) : 0}%` } })),
    h('span', { class: 'num' }, formatDuration(trace.duration_ms)),
    h('span', { class: 'num' }, used ? `${count(used)} tokens` : ''),
    h('span', { class: 'num' }, trace.usage?.cost_usd != null ? formatCost(trace.usage.cost_usd) : ''),
    trace.start != null ? timeElement(trace.start) : h('span')));
}

export function traceList(rows) {
  const longest = Math.max(0, ...rows.map((row) => row.duration_ms ?? 0));
  return h('ul', { class: 'panel trace-list' }, rows.map((row) => traceRow(row, longest)));
}

export function traces() {
  const container = h('div');
  const refresh = () => loadInto(container, () => api.traces(), (rows) => (rows.length
    ? traceList(rows)
    : emptyState('traces', 'No traces yet', h('p', {}, 'Each task attempt and each request to an agent served as a model writes a trace with timings, usage and errors.'))));
  const refreshButton = h('button', { class: 'button', type: 'button', on: { click: refresh } }, icon('retry'), 'Refresh');
  refresh();
  return { title: 'Traces', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Traces'), refreshButton), container) };
}
