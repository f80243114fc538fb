// What model calls used and cost, as the bridge counted them.

import { api } from '../api.js';
import { h } from '../dom.js';
import { selectedProject } from '../projects.js';
import { watch } from '../store.js';
import { count, formatCost, plural, tokens } from '../text.js';
import { emptyState, loadInto } from '../widgets/common.js';
import { bars } from './bars.js';
import { columns, everyDay } from './chart.js';
import { figures } from './figures.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const KEYS = [['agent', 'agent'], ['model', 'model'], ['task', 'task'], ['project', 'project'], ['person', 'person'], ['account', 'account']];
const PERIODS = [['7', '7 days'], ['30', '30 days'], ['90', '90 days']];
const MEASURES = {
  cost: ['Cost', (row) => row.cost_usd ?? 0, formatCost],
  tokens: ['Tokens', tokens, count],
  calls: ['Calls', (row) => row.calls, count],
};

// The known cost of calls. It is unknown for all of them if their models have no price.
export function callCost(row) {
  if (row.calls > 0 && row.calls_with_unknown_cost === row.calls) return 'unknown';
  return row.calls_with_unknown_cost > 0 ? `${formatCost(row.cost_usd)} + unknown` : formatCost(row.cost_usd);
}

function sumOf(rows) {
  const fields = ['calls', 'input_tokens', 'output_tokens', 'cost_usd', 'calls_with_unknown_cost'];
  return Object.fromEntries(fields.map((field) => [field, rows.reduce((sum, row) => sum + row[field], 0)]));
}

// Names a row. The difference to what the agent itself reports is shown beside a task.
function named(row, by) {
  const reported = row.reported_by_agent;
  const differs = reported && (reported.input_tokens !== row.input_tokens || reported.output_tokens !== row.output_tokens);
  const name = row.key == null ? 'none' : by === 'task' ? `#${row.key}` : row.key;
  return { ...row, name: differs ? `${name} (the agent reports ${count(reported.input_tokens)} in, ${count(reported.output_tokens)} out)` : name };
}

function callsView({ byDay, byKey, by, days, measure }) {
  if (byDay.length === 0) {
    return emptyState('usage', 'No model calls in this time', h('p', {}, 'Calls of agents that go through the bridge are counted here: ', h('code', {}, 'windlass usage'), ' prints the same.'));
  }
  const total = sumOf(byDay);
  const chosen = measure ?? (total.cost_usd > 0 ? 'cost' : 'tokens');
  const [label, value, format] = MEASURES[chosen];
  const now = Date.now();
  return h('div', { class: 'stack' },
    figures([[count(total.calls), total.calls === 1 ? 'call' : 'calls'], [count(total.input_tokens), 'input tokens'], [count(total.output_tokens), 'output tokens'], [callCost(total), 'cost']]),
    total.calls_with_unknown_cost > 0 && h('p', { class: 'small muted' }, `The cost of ${plural(total.calls_with_unknown_cost, 'call')} is unknown: set the prices of their models in [prices].`),
    columns(everyDay(byDay, now - (days - 1) * DAY_MS, now), value, format, label),
    bars(byKey.map((row) => named(row, by)), by, value, [['Calls', (row) => count(row.calls)], ['Input', (row) => count(row.input_tokens)], ['Output', (row) => count(row.output_tokens)], ['Cost', callCost]]));
}

function select(label, name, options, selected, onChange) {
  return h('select', { class: 'input', 'aria-label': label, name, on: { change: (event) => onChange(event.target.value) } },
    options.map(([value, text]) => h('option', { value, selected: value === selected }, text)));
}

export function callUsage() {
  const container = h('div', { data: { part: 'calls' } });
  const chosen = { by: 'agent', days: 30, measure: null };
  const read = async () => {
    const since = Date.parse(new Date(Date.now() - (chosen.days - 1) * DAY_MS).toISOString().slice(0, 10));
    const of = (by) => api.callUsage({ by, since, project: selectedProject() });
    const [byDay, byKey] = await Promise.all([of('day'), of(chosen.by)]);
    return { byDay, byKey, ...chosen };
  };
  const load = () => loadInto(container, read, callsView);
  const choose = (name) => (value) => {
    chosen[name] = name === 'days' ? Number(value) : value;
    load();
  };
  const stop = watch(['project'], load);
  load();
  const measures = Object.entries(MEASURES).map(([key, [text]]) => [key, text]);
  const node = h('section', {},
    h('div', { class: 'head' }, h('h2', { class: 'section' }, 'Model calls'),
      select('Group by', 'by', KEYS.map(([key, text]) => [key, `by ${text}`]), chosen.by, choose('by')),
      select('Period', 'days', PERIODS, '30', choose('days')),
      select('Chart', 'measure', measures, 'cost', choose('measure'))),
    container);
  return { node, leave: stop };
}
