// Tokens and cost: of model calls, and of tasks as their agents report them.

import { api } from '../api.js';
import { h } from '../dom.js';
import { count, formatCost, tokens } from '../text.js';
import { bars } from '../usage/bars.js';
import { callUsage } from '../usage/calls.js';
import { figures } from '../usage/figures.js';
import { emptyState, loadInto, notice } from '../widgets/common.js';

const toRows = (sums) => Object.entries(sums).map(([name, sum]) => ({ name, ...sum }));
const byTokens = (a, b) => tokens(b) - tokens(a) || b.tasks - a.tasks;
const COLUMNS = [['Tokens', (row) => count(tokens(row))], ['Cost', (row) => formatCost(row.cost_usd)], ['Tasks', (row) => String(row.tasks)]];

function taskUsage({ total, by_agent: agents, by_day: days, truncated }) {
  if (!total.tasks) {
    return emptyState('usage', 'No usage yet', h('p', {}, 'Tokens and cost appear here when an agent reports its usage.'));
  }
  return h('div', { class: 'stack' },
    figures([[count(total.input_tokens), 'input tokens'], [count(total.output_tokens), 'output tokens'], [formatCost(total.cost_usd), 'cost, where reported'], [String(total.tasks), total.tasks === 1 ? 'task' : 'tasks']]),
    truncated && notice('warn', 'Totals are incomplete: too many tasks.'),
    h('section', {}, h('h3', { class: 'section' }, 'By agent'), bars(toRows(agents).sort(byTokens), 'Agent', tokens, COLUMNS)),
    h('section', {}, h('h3', { class: 'section' }, 'By day'), bars(toRows(days).sort((a, b) => (a.name < b.name ? 1 : -1)), 'Day', tokens, COLUMNS)));
}

export function usage() {
  const tasks = h('div');
  const calls = callUsage();
  loadInto(tasks, api.usage, taskUsage);
  return {
    title: 'Usage',
    leave: calls.leave,
    node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Usage')),
      h('div', { class: 'stack' }, calls.node, h('section', {}, h('h2', { class: 'section' }, 'Tasks, as agents report them'), tasks))),
  };
}
