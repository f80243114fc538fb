// What was spent: in all, by agent, by day.

import { api } from '../api.js';
import { h } from '../dom.js';
import { count, money, tokens } from '../text.js';
import { empty, loaded, notice } from '../widgets/bits.js';

function figure(value, words) {
  return h('div', { class: 'figure' }, h('b', { class: 'num' }, value), h('span', {}, words));
}

const named = (sums) => Object.entries(sums).map(([name, sum]) => ({ name, ...sum }));
const most = (a, b) => tokens(b) - tokens(a) || b.tasks - a.tasks;

function bars(rows, name) {
  const top = Math.max(1, ...rows.map(tokens));
  return h('table', { class: 'panel bars' },
    h('thead', {}, h('tr', {}, ['', 'Tokens', 'Cost', 'Tasks'].map((word, at) => h('th', { scope: 'col', class: at ? 'end' : '' }, word || name)))),
    h('tbody', {}, rows.map((row) => h('tr', {},
      h('th', { scope: 'row' }, h('span', { class: 'cut' }, row.name), h('span', { class: 'track' }, h('i', { vars: { w: `${(100 * tokens(row)) / top}%` } }))),
      h('td', { class: 'num end' }, count(tokens(row))), h('td', { class: 'num end' }, money(row.cost_usd)), h('td', { class: 'num end' }, String(row.tasks))))));
}

function show({ total, by_agent: agents, by_day: days, truncated }) {
  if (!total.tasks) {
    return empty('usage', 'Nothing was spent yet', h('p', {}, 'Tokens and money show up here as soon as an agent says what it used.'));
  }
  return h('div', { class: 'stack' },
    h('div', { class: 'figures' },
      figure(count(total.input_tokens), 'tokens read'),
      figure(count(total.output_tokens), 'tokens written'),
      figure(money(total.cost_usd), 'cost, where agents say it'),
      figure(String(total.tasks), total.tasks === 1 ? 'task tried' : 'tasks tried')),
    truncated && notice('ask', 'There are more tasks than were added up.'),
    h('section', {}, h('h2', { class: 'section' }, 'By agent'), bars(named(agents).sort(most), 'Agent')),
    h('section', {}, h('h2', { class: 'section' }, 'By day'), bars(named(days).sort((a, b) => (a.name < b.name ? 1 : -1)), 'Day')));
}

export function usage() {
  const place = h('div');
  loaded(place, api.usage, show);
  return { title: 'Usage', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Usage')), place) };
}
