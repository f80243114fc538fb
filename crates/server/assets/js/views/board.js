// The board: all tasks in columns by status, updated live.

import { needsScope } from '../access.js';
import { append, h, reconcile, setText } from '../dom.js';
import { bind } from '../keys.js';
import { load, state, watch } from '../store.js';
import { count, inputSummary, plural, statusLabel, statusTone, stripMarkdown, tokens } from '../text.js';
import { emptyState, failure, loading, pill, statusPill, testBar, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { newTask } from './new-task.js';

const COLUMNS = [
  { name: 'Pending', statuses: ['pending'], icon: 'clock', placeholder: 'No pending tasks.' },
  { name: 'Running', statuses: ['in_progress'], icon: 'anchor', placeholder: 'No running tasks.' },
  { name: 'Needs input', statuses: ['blocked'], icon: 'question', placeholder: 'No open questions.' },
  { name: 'Done', statuses: ['completed'], icon: 'seal', placeholder: 'No completed tasks yet.' },
  { name: 'Stopped', statuses: ['failed', 'cancelled'], icon: 'stop', placeholder: 'No failed or cancelled tasks.' },
];
const RUNNING = COLUMNS.findIndex((entry) => entry.name === 'Running');
const TERMINAL = new Set(['completed', 'failed', 'cancelled']);
const PAGE_SIZE = 40;
// A running task without events counts as starting for this long.
const STARTING_MS = 15_000;

let filterText = '';
let project = '';

function matchesFilter(task) {
  if (project && String(task.project_id) !== project) return false;
  const terms = filterText.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `#${task.id} ${task.title} ${task.agent ?? ''} ${task.status}`.toLowerCase();
  return terms.every((term) => text.includes(term));
}

function order(column) {
  if (TERMINAL.has(column.statuses[0])) return (a, b) => b.updated_at - a.updated_at || b.id - a.id;
  return (a, b) => a.priority - b.priority || a.workflow_step - b.workflow_step || a.id - b.id;
}

function card(task) {
  const title = h('h3', {});
  const activity = h('p', { class: 'activity truncate' });
  const meta = h('div', { class: 'meta' });
  const tests = h('div', { class: 'tests' });
  const node = h('a', { class: 'card', href: `#/tasks/${task.id}`, data: { id: task.id } }, title, activity, tests, meta);
  const update = (now) => {
    setText(title, now.title);
    node.dataset.status = now.status;
    node.dataset.needsApproval = pendingApproval(now) != null;
    setText(activity, activityText(now));
    activity.hidden = !activity.textContent;
    const result = state.tests.get(now.id);
    tests.replaceChildren(...(result && now.status !== 'pending' ? [testBar(result)] : []));
    meta.replaceChildren();
    append(meta, h('span', { class: 'num' }, `#${now.id}`),
      now.agent && h('span', { class: 'truncate' }, now.agent),
      now.priority < 2 && h('span', { class: 'priority' }, `P${now.priority}`),
      now.attempt > 1 && !TERMINAL.has(now.status) && h('span', {}, `attempt ${now.attempt}`),
      (now.status === 'failed' || now.status === 'cancelled' || now.unverified || now.needs_review) && statusPill(now),
      timeElement(TERMINAL.has(now.status) ? now.completed_at ?? now.updated_at : now.status === 'pending' ? now.created_at : now.updated_at, { small: true }));
  };
  return { node, update };
}

// Returns the open permission request of a running task.
const pendingApproval = (task) => (task.status === 'in_progress' ? state.approvals.find((approval) => approval.attempt.task === task.id) : null);

function activityText(task) {
  const approval = pendingApproval(task);
  if (approval) return `requests permission: ${approval.tool} ${inputSummary(approval.input)}`;
  if (task.status === 'in_progress') return state.activity.get(task.id)?.text ?? (Date.now() - task.updated_at < STARTING_MS ? 'starting…' : 'running…');
  if (task.status === 'blocked') return stripMarkdown(state.blockers.find((blocker) => blocker.task_id === task.id)?.question ?? task.output);
  if (task.status === 'pending' && task.dependencies.length) return `waits for ${task.dependencies.map((id) => `#${id}`).join(', ')}`;
  if (task.status === 'failed') return stripMarkdown(task.output);
  return '';
}

function column(spec) {
  const number = h('span', { class: 'count num' });
  const cards = h('div', { class: 'cards' });
  const placeholder = h('p', { class: 'placeholder' }, spec.placeholder);
  const more = h('button', { class: 'button plain', type: 'button', hidden: true });
  let limit = PAGE_SIZE;
  more.addEventListener('click', () => { limit += PAGE_SIZE * 5; update(); });
  const id = `column-${spec.statuses[0]}`;
  const node = h('section', { class: 'column', 'aria-labelledby': id, data: { column: spec.statuses[0] } },
    h('header', {}, icon(spec.icon), h('h2', { id }, spec.name), number), cards, placeholder, more);
  const update = () => {
    const tasks = [...state.tasks.values()].filter((task) => spec.statuses.includes(task.status) && matchesFilter(task)).sort(order(spec));
    setText(number, tasks.length ? String(tasks.length) : '');
    node.dataset.empty = tasks.length === 0;
    placeholder.hidden = tasks.length > 0;
    more.hidden = tasks.length <= limit;
    setText(more, `Show ${tasks.length - limit} more`);
    reconcile(cards, tasks.slice(0, limit), (task) => task.id, card);
  };
  return { node, update };
}

// The list of recent events of all tasks.
function recentActivity() {
  const rows = h('ol', {});
  const node = h('section', { class: 'recent', 'aria-labelledby': 'recent' }, h('h2', { id: 'recent' }, 'Recent activity'), rows);
  const row = (entry) => {
    const { event } = entry;
    const status = event.type === 'task_status';
    const tones = {
      task_status: () => statusTone(event.status),
      test_result: () => (event.status === 'passed' ? 'good' : 'bad'),
      activity_update: () => (event.activity_type === 'approval_requested' ? 'warn' : 'none'),
    };
    const tone = tones[event.type]?.() ?? 'none';
    const title = h('a', { class: 'truncate', href: `#/tasks/${entry.task}` });
    const update = () => setText(title, `#${entry.task} ${state.tasks.get(entry.task)?.title ?? ''}`);
    return { node: h('li', {}, pill(status ? statusLabel(event.status) : entry.text, tone), title, event.type === 'test_result' && event.total > 0 && testBar(event), timeElement(entry.at, { small: true })), update };
  };
  const update = () => {
    node.hidden = state.recent.length === 0;
    reconcile(rows, state.recent, (entry) => entry.seq, row);
  };
  return { node, update };
}

// Moves the focus from card to card with the arrow keys.
function moveFocus(root, event) {
  const columns = [...root.querySelectorAll('.column')].map((entry) => [...entry.querySelectorAll('.card')]).filter((cards) => cards.length);
  const columnIndex = columns.findIndex((cards) => cards.includes(document.activeElement));
  if (columns.length === 0) return;
  if (columnIndex < 0) {
    columns[0][0].focus();
    return;
  }
  const row = columns[columnIndex].indexOf(document.activeElement);
  const dx = { ArrowLeft: -1, h: -1, ArrowRight: 1, l: 1 }[event.key] ?? 0;
  const dy = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key] ?? 0;
  const cards = columns[Math.min(Math.max(columnIndex + dx, 0), columns.length - 1)];
  cards[Math.min(Math.max(row + dy, 0), cards.length - 1)].focus();
}

function toolbar(update) {
  const filter = h('input', { class: 'input filter', type: 'search', value: filterText, placeholder: 'Filter', 'aria-label': 'Filter tasks', title: 'Filter (/)' });
  filter.addEventListener('input', () => { filterText = filter.value; update(); });
  filter.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { filter.value = filterText = ''; filter.blur(); update(); }
  });
  const projects = h('select', { class: 'input', 'aria-label': 'Project', hidden: true });
  projects.addEventListener('change', () => { project = projects.value; update(); });
  const refresh = () => {
    projects.hidden = state.projects.size < 2;
    if (projects.options.length !== state.projects.size + 1) {
      projects.replaceChildren(h('option', { value: '' }, 'All projects'));
      for (const entry of state.projects.values()) projects.append(h('option', { value: String(entry.id) }, entry.name));
      projects.value = project;
    }
  };
  return { filter, projects, refresh };
}

function summary(tasks) {
  const usedTokens = tasks.reduce((sum, task) => sum + tokens(task.usage), 0);
  const verified = tasks.filter((task) => task.status === 'completed' && !task.unverified).length;
  const parts = [plural(tasks.length, 'task'), `${verified} verified`];
  const toReview = tasks.filter((task) => task.needs_review).length;
  if (toReview) parts.push(`${toReview} to review`);
  if (usedTokens) parts.push(`${count(usedTokens)} tokens`);
  return parts.join(' · ');
}

export function board() {
  const summaryText = h('span', { class: 'muted small num' });
  const columns = COLUMNS.map(column);
  const grid = h('div', { class: 'board' }, columns.map((entry) => entry.node));
  const fallback = h('div');
  const recentList = recentActivity();
  const update = () => {
    const tasks = [...state.tasks.values()];
    const blank = state.loaded && tasks.length === 0;
    const bad = !state.loaded && state.error;
    grid.hidden = blank || !state.loaded;
    fallback.hidden = !grid.hidden;
    if (!fallback.hidden) {
      const kind = blank ? 'empty' : bad ? 'error' : 'loading';
      if (fallback.dataset.kind !== kind) {
        fallback.dataset.kind = kind;
        fallback.replaceChildren(blank ? welcome() : bad ? failure(state.error, load) : loading());
      }
    }
    bar.refresh();
    bar.filter.hidden = blank;
    setText(summaryText, blank ? '' : summary(tasks.filter(matchesFilter)));
    const focused = grid.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    for (const entry of columns) entry.update();
    recentList.update();
    // A focused card keeps the focus when it moves to another column.
    if (focused && !grid.contains(document.activeElement)) grid.querySelector(`.card[data-id="${focused}"]`)?.focus({ preventScroll: true });
  };
  const bar = toolbar(update);
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Board'), summaryText, bar.projects, bar.filter), fallback, grid, recentList.node);
  const stops = [
    watch(['tasks', 'inbox', 'load'], update),
    // Fires many times a second while agents run, so only the parts that can change are updated.
    watch(['activity'], () => { columns[RUNNING].update(); recentList.update(); }),
    bind('/', () => bar.filter.focus()),
    ...['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'h', 'j', 'k', 'l'].map((key) => bind(key, (event) => moveFocus(grid, event))),
  ];
  update();
  return { title: 'Board', node, leave: () => stops.forEach((stop) => stop()), setParams: () => false };
}

function welcome() {
  return emptyState('anchor', 'No tasks yet',
    h('p', {}, 'Describe a change. An agent works on it in a separate clone. Windlass runs the tests, sends failures back to the agent, and completes the task only with proof.'),
    h('div', { class: 'row' }, needsScope('work', h('button', { class: 'button main', type: 'button', on: { click: () => newTask() } }, icon('plus'), 'New task'))),
    h('p', { class: 'muted' }, 'or on the command line: ', h('code', {}, 'windlass task add "TITLE"')));
}
