// The goals: groups of tasks that belong together, with their progress.

import { h, reconcile, setText } from '../dom.js';
import { allGoals, goalName, goalProgress, goalTasks } from '../goals/model.js';
import { inProject } from '../projects.js';
import { state, watch } from '../store.js';
import { count, formatCost, plural, tokens } from '../text.js';
import { emptyState, timeElement } from '../widgets/common.js';
import { progressBar, progressText } from '../goals/progress.js';

function goalCard(goal) {
  const title = h('h2', { class: 'truncate' });
  const body = h('div', { class: 'goal-body' });
  const node = h('a', { class: 'panel goal', href: `#/goals/${goal.id}` }, title, body);
  let shown = '';
  const update = (now) => {
    const tasks = goalTasks(now);
    const progress = goalProgress(now);
    const used = tasks.reduce((sum, task) => sum + tokens(task.usage), 0);
    const cost = tasks.reduce((sum, task) => sum + (task.usage?.cost_usd ?? 0), 0);
    const newest = Math.max(...tasks.map((task) => task.updated_at));
    const next = JSON.stringify([goalName(now), progress, used, cost, newest]);
    if (next === shown) return;
    shown = next;
    setText(title, goalName(now));
    title.title = title.textContent;
    body.replaceChildren(progressBar(progress), h('p', { class: 'small muted num' },
      [progressText(progress), used && `${count(used)} tokens`, cost && formatCost(cost)].filter(Boolean).join(' · '), ' · ', timeElement(newest)));
  };
  return { node, update };
}

export function goals() {
  const summary = h('span', { class: 'muted small num' });
  const rows = h('div', { class: 'goals' });
  const placeholder = emptyState('graph', 'No goals yet',
    h('p', {}, 'A goal is a group of tasks: ', h('code', {}, 'windlass task plan "GOAL"'), ' splits one into tasks, and tasks that depend on each other form one.'));
  const update = () => {
    const list = allGoals().filter((goal) => goalTasks(goal).some(inProject));
    placeholder.hidden = list.length > 0 || !state.loaded;
    setText(summary, list.length ? plural(list.length, 'goal') : '');
    reconcile(rows, list, (goal) => goal.id, goalCard);
  };
  const stop = watch(['tasks', 'load', 'project'], update);
  update();
  return { title: 'Goals', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Goals'), summary), rows, placeholder), leave: stop };
}
