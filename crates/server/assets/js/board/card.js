// The card of a task on the board.

import { append, h, setText } from '../dom.js';
import { goalOf } from '../goals/model.js';
import { state } from '../store.js';
import { agentName, inputSummary, plural, stripMarkdown } from '../text.js';
import { pill, statusPill, testBar, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { pauseOf } from './workers.js';
import { isSelected, toggleSelected } from './selection.js';

const TERMINAL = new Set(['completed', 'failed', 'cancelled']);
// A running task without events counts as starting for this long.
const STARTING_MS = 15_000;
// A pending task that nothing else holds up is taken within this time if a worker is free.
const UNTAKEN_MS = 60_000;

// Returns the open permission request of a running task.
const pendingApproval = (task) => (task.status === 'in_progress' ? state.approvals.find((approval) => approval.attempt.task === task.id) : null);

function pendingText(task) {
  if (task.paused) return 'paused';
  const open = task.dependencies.filter((id) => state.tasks.get(id)?.status !== 'completed');
  if (open.length) return `waits for ${open.map((id) => `#${id}`).join(', ')}`;
  if (pauseOf(task.project_id)) return 'the workers are paused';
  if (task.waiting) return task.waiting;
  const { worker } = state.health ?? {};
  if (Date.now() - task.updated_at < UNTAKEN_MS) return '';
  if (state.health && !worker) return `no worker has taken it: windlass worker --kind ${task.kind}`;
  if (worker && worker.running < worker.concurrency) return `no worker takes ${task.kind} tasks: windlass worker --kind ${task.kind}`;
  return 'waits for a free worker';
}

export function activityText(task) {
  const approval = pendingApproval(task);
  if (approval) return `requests permission: ${approval.tool} ${inputSummary(approval.input)}`;
  switch (task.status) {
    case 'in_progress': return state.activity.get(task.id)?.text ?? (Date.now() - task.updated_at < STARTING_MS ? 'starting…' : 'running…');
    case 'blocked': return stripMarkdown(state.blockers.find((blocker) => blocker.task_id === task.id)?.question ?? task.output);
    case 'pending': return pendingText(task);
    case 'failed': return stripMarkdown(task.output);
    default: return '';
  }
}

// The dependencies as dots, one for each: filled when it is completed.
function dependencyDots(task) {
  const done = task.dependencies.filter((id) => state.tasks.get(id)?.status === 'completed').length;
  const label = `${done} of ${plural(task.dependencies.length, 'dependency', 'dependencies')} completed`;
  return h('span', { class: 'dependencies', role: 'img', title: `${label}: ${task.dependencies.map((id) => `#${id}`).join(', ')}`, 'aria-label': label },
    task.dependencies.slice(0, 8).map((id) => h('i', { data: { status: state.tasks.get(id)?.status ?? 'pending' } })));
}

function cardTime(task) {
  if (TERMINAL.has(task.status)) return task.landed?.at ?? task.completed_at ?? task.updated_at;
  return task.status === 'pending' ? task.created_at : task.updated_at;
}

function metaParts(task) {
  const goal = goalOf(task.id);
  const showStatus = task.status === 'failed' || task.status === 'cancelled' || (task.status === 'completed' && !task.landed && (task.unverified || task.needs_review));
  return [
    h('span', { class: 'num' }, `#${task.id}`),
    h('span', { class: 'truncate', title: task.agent ? `Agent ${task.agent}` : 'The default agent' }, agentName(task, state.defaultAgent)),
    task.priority !== 2 && h('span', { class: 'priority', data: { high: task.priority < 2 } }, `P${task.priority}`),
    task.attempt > 1 && !TERMINAL.has(task.status) && h('span', {}, `attempt ${task.attempt}`),
    task.dependencies.length > 0 && task.status === 'pending' && dependencyDots(task),
    goal && h('span', { class: 'goal-mark', title: `Part of a goal of ${plural(goal.tasks.length, 'task')}` }, icon('graph'), String(goal.tasks.length)),
    showStatus && statusPill(task),
    task.landed ? pill('Landed', 'good') : task.land && task.status === 'completed' && pill('Landing', 'live'),
    task.status === 'completed' && !task.landed && task.review === 'approve' && pill('Approved', 'good'),
    task.outdated && pill('Outdated', 'warn'),
    timeElement(cardTime(task), { small: true }),
  ];
}

export function card(task) {
  const title = h('h3', {});
  const activity = h('p', { class: 'activity truncate' });
  const meta = h('div', { class: 'meta' });
  const tests = h('div', { class: 'tests' });
  const project = h('p', { class: 'project truncate' });
  const link = h('a', { class: 'card', href: `#/tasks/${task.id}`, data: { id: task.id }, draggable: 'true', 'aria-keyshortcuts': 's e + -' }, project, title, activity, tests, meta);
  const check = h('input', { type: 'checkbox', class: 'pick', 'aria-label': `Select task ${task.id}` });
  check.addEventListener('change', () => toggleSelected(task.id, check.checked));
  const node = h('div', { class: 'card-slot', data: { id: task.id } }, link, check);
  const update = (now) => {
    setText(title, now.title);
    link.title = now.title.length > 90 ? title.textContent : '';
    link.dataset.status = now.status;
    link.dataset.landed = Boolean(now.landed);
    link.dataset.needsApproval = pendingApproval(now) != null;
    check.checked = isSelected(now.id);
    node.dataset.selected = check.checked;
    setText(project, state.projects.size > 1 ? state.projects.get(now.project_id)?.name ?? '' : '');
    project.hidden = !project.textContent;
    setText(activity, activityText(now));
    activity.hidden = !activity.textContent;
    const result = state.tests.get(now.id);
    tests.replaceChildren(...(result && now.status !== 'pending' ? [testBar(result)] : []));
    meta.replaceChildren();
    append(meta, metaParts(now));
  };
  return { node, update };
}
