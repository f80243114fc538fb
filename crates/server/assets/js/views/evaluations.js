// The results of `windlass eval`: how often each agent passed, with the interval, time, corrections and cost.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { formatCost, plural } from '../text.js';
import { emptyState, failure, loading, timeElement } from '../widgets/common.js';

const REFRESH_MS = 5_000;

const percent = (rate) => `${Math.round(rate * 100)} %`;
const length = (rate) => `${rate * 100}%`;

function agentRow(agent) {
  const [low, high] = agent.interval ?? [0, 0];
  const interval = agent.interval && h('span', { class: 'interval', role: 'img', 'aria-label': `between ${percent(low)} and ${percent(high)}` },
    h('i', { class: 'range', vars: { x: length(low), w: length(high - low) } }), h('i', { class: 'rate', vars: { x: length(agent.pass_rate) } }));
  return h('tr', { data: { agent: agent.agent } },
    h('th', { scope: 'row' }, h('span', { class: 'truncate' }, agent.agent), interval),
    h('td', { class: 'num end' }, `${agent.passed} of ${agent.done}`),
    h('td', { class: 'num end' }, agent.pass_rate == null ? '–' : percent(agent.pass_rate)),
    h('td', { class: 'num end' }, agent.interval ? `${percent(low)} to ${percent(high)}` : '–'),
    h('td', { class: 'num end' }, agent.seconds == null ? '–' : `${agent.seconds.toFixed(1)} s`),
    h('td', { class: 'num end' }, agent.corrections == null ? '–' : agent.corrections.toFixed(1)),
    h('td', { class: 'num end' }, agent.cost_usd == null ? 'unknown' : formatCost(agent.cost_usd)));
}

const isOpen = (result) => result.status === 'pending' || result.status === 'in_progress';
const mark = (result) => (isOpen(result) ? ['open', '…', 'not done'] : result.passed ? ['good', '✓', 'passed'] : ['bad', '✗', result.reason ?? 'not passed']);

function resultCell(results) {
  return h('td', {}, h('span', { class: 'marks' }, results.map((result) => {
    const [kind, sign, text] = mark(result);
    return h('span', { class: kind, role: 'img', title: `${result.repeat}: ${text}`, 'aria-label': text }, sign);
  })));
}

function table(className, headings, rows) {
  return h('div', { class: 'wide-table' }, h('table', { class: `panel ${className}` },
    h('thead', {}, h('tr', {}, headings.map((text, index) => h('th', { scope: 'col', class: className === 'bars' && index ? 'end' : '' }, text)))),
    h('tbody', {}, rows)));
}

function evaluationView({ file, updated_at: at, report }) {
  const agents = report.agents.map((agent) => agent.agent);
  const tasks = [...new Set(report.results.map((result) => result.task))];
  const open = report.results.filter(isOpen).length;
  const of = (task, agent) => report.results.filter((result) => result.task === task && result.agent === agent);
  const routing = Object.entries(report.routing ?? {});
  return h('section', { class: 'stack evaluation' },
    h('div', { class: 'head' }, h('h2', { class: 'section', title: file }, file.split('/').at(-1)), h('span', { class: 'small muted' }, open > 0 ? `${open} of ${plural(report.results.length, 'result')} not done · ` : `${plural(report.results.length, 'result')} · `, timeElement(at))),
    table('bars', ['Agent', 'Passed', 'Rate', '95 % interval', 'Time', 'Corrections', 'Cost'], report.agents.map(agentRow)),
    table('results', ['Task', ...agents], tasks.map((task) => h('tr', {}, h('th', { scope: 'row' }, task), agents.map((agent) => resultCell(of(task, agent)))))),
    agents.length > 1 && routing.length > 0 && h('p', { class: 'small' }, 'Best for each kind of task: ', routing.map(([kind, agent], index) => [index > 0 && ', ', h('code', {}, `${kind} = "${agent}"`)]), '.'));
}

function listView(list) {
  if (list.length === 0) {
    return emptyState('usage', 'No evaluations yet', h('p', {}, 'An evaluation lets each agent do the same tasks, with tests as the judge: ', h('code', {}, 'windlass eval'), '.'));
  }
  return h('div', { class: 'stack' }, list.map(evaluationView));
}

export function evaluations() {
  const body = h('div', {}, loading());
  let shown = null;
  const refresh = async () => {
    try {
      const list = await api.evaluations();
      const next = JSON.stringify(list);
      if (next !== shown) fill(body, listView(list));
      shown = next;
    } catch (error) {
      if (!shown) fill(body, failure(error, refresh));
    }
  };
  // A running evaluation adds results.
  const timer = setInterval(refresh, REFRESH_MS);
  refresh();
  return { title: 'Evaluations', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Evaluations')), body), leave: () => clearInterval(timer) };
}
