// One goal: its progress, its dependency graph, and its tasks in the order in which they can be done.

import { fill, h, setText } from '../dom.js';
import { graph } from '../goals/graph.js';
import { layers } from '../goals/layout.js';
import { goalName, goalOf, goalProgress, goalTasks } from '../goals/model.js';
import { progressBar, progressText } from '../goals/progress.js';
import { state, watch } from '../store.js';
import { agentName, count, formatCost, tokens } from '../text.js';
import { emptyState, loading, pill, statusPill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { activityText } from '../board/card.js';

// The list has everything that the graph shows, as text.
function taskRow(task) {
  const waits = task.dependencies.filter((id) => state.tasks.has(id));
  return h('tr', {},
    h('td', { class: 'num' }, h('a', { href: `#/tasks/${task.id}` }, `#${task.id}`)),
    h('th', { scope: 'row' }, h('a', { class: 'wrap', href: `#/tasks/${task.id}` }, task.title), activityText(task) && h('p', { class: 'small muted truncate' }, activityText(task))),
    h('td', {}, task.landed ? pill('Landed', 'good') : statusPill(task)),
    h('td', { class: 'small wide' }, agentName(task, state.defaultAgent)),
    h('td', { class: 'small num wide' }, waits.length ? waits.map((id) => `#${id}`).join(', ') : '–'),
    h('td', { class: 'small num end wide' }, tokens(task.usage) ? count(tokens(task.usage)) : '–'),
    h('td', { class: 'small num end wide' }, formatCost(task.usage?.cost_usd)),
    h('td', { class: 'small end' }, timeElement(task.updated_at, { small: true })));
}

function taskTable(tasks) {
  const depth = layers(tasks);
  const sorted = [...tasks].sort((a, b) => depth.get(a.id) - depth.get(b.id) || a.id - b.id);
  const heading = (text, kind = '') => h('th', { scope: 'col', class: kind }, text);
  return h('table', { class: 'panel goal-tasks' },
    h('thead', {}, h('tr', {}, heading('Task'), heading('Title'), heading('Status'), heading('Agent', 'wide'), heading('After', 'wide'), heading('Tokens', 'end wide'), heading('Cost', 'end wide'), heading('Changed', 'end'))),
    h('tbody', {}, sorted.map(taskRow)));
}

export function goal({ id }) {
  const title = h('h1', { class: 'wrap' });
  const head = h('div', { class: 'goal-head' });
  const body = h('div', { class: 'stack' }, loading());
  let shown = '';
  const update = () => {
    const found = goalOf(Number(id));
    if (!found) {
      if (!state.loaded) return;
      setText(title, `Goal ${id}`);
      fill(body, emptyState('graph', 'No such goal', h('p', {}, h('a', { href: '#/goals' }, 'All goals'))));
      return;
    }
    const tasks = goalTasks(found);
    const next = JSON.stringify([tasks, state.approvals.length, state.defaultAgent]);
    if (next === shown) return;
    shown = next;
    setText(title, goalName(found));
    const progress = goalProgress(found);
    fill(head, progressBar(progress), h('p', { class: 'small muted num' }, progressText(progress)));
    const scroll = body.querySelector('.graph-scroll')?.scrollLeft ?? 0;
    fill(body, graph(tasks), taskTable(tasks));
    body.querySelector('.graph-scroll').scrollLeft = scroll;
  };
  const stop = watch(['tasks', 'inbox', 'load'], update);
  update();
  const back = h('a', { class: 'button plain square', href: '#/goals', 'aria-label': 'All goals' }, icon('back'));
  return { title: `Goal ${id}`, node: h('div', {}, h('div', { class: 'goal-title' }, back, title), head, body), leave: stop };
}
