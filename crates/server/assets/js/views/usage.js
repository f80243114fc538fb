// Tokens and cost: in total, by agent and by day.

import { api } from '../api.js';
import { h } from '../dom.js';
import { count, formatCost, tokens } from '../text.js';
import { emptyState, loadInto, notice } from '../widgets/common.js';

function figure(value, label) {
  return h('div', { class: 'figure' }, h('b', { class: 'num' }, value), h('span', {}, label));
}

const toRows = (sums) => Object.entries(sums).map(([name, sum]) => ({ name, ...sum }));
const byTokens = (a, b) => tokens(b) - tokens(a) || b.tasks - a.tasks;

function bars(rows, name) {
  const top = Math.max(1, ...rows.map(tokens));
  return h('table', { class: 'panel bars' },
    h('thead', {}, h('tr', {}, ['', 'Tokens', 'Cost', 'Tasks'].map((heading, index) => h('th', { scope: 'col', class: index ? 'end' : '' }, heading || name)))),
    h('tbody', {}, rows.map((row) => h('tr', {},
      h('th', { scope: 'row' }, h('span', { class: 'truncate' }, row.name), h('span', { class: 'track' }, h('i', { vars: { w: `${(100 * tokens(row)) / top}%` } }))),
      h('td', { class: 'num end' }, count(tokens(row))), h('td', { class: 'num end' }, formatCost(row.cost_usd)), h('td', { class: 'num end' }, String(row.tasks))))));
}

function usageView({ total, by_agent: agents, by_day: days, truncated }) {
  if (!total.tasks) {
    return emptyState('usage', 'No usage yet', h('p', {}, 'Tokens and cost appear here when an agent reports its usage.'));
  }
  return h('div', { class: 'stack' },
    h('div', { class: 'figures' },
      figure(count(total.input_tokens), 'input tokens'),
      figure(count(total.output_tokens), 'output tokens'),
      figure(formatCost(total.cost_usd), 'cost, where reported'),
      figure(String(total.tasks), total.tasks === 1 ? 'task' : 'tasks')),
    truncated && notice('warn', 'Totals are incomplete: too many tasks.'),
    h('section', {}, h('h2', { class: 'section' }, 'By agent'), bars(toRows(agents).sort(byTokens), 'Agent')),
    h('section', {}, h('h2', { class: 'section' }, 'By day'), bars(toRows(days).sort((a, b) => (a.name < b.name ? 1 : -1)), 'Day')));
}

export function usage() {
  const container = h('div');
  loadInto(container, api.usage, usageView);
  return { title: 'Usage', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Usage')), container) };
}
