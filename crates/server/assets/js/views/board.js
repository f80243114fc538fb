// The board: all tasks in columns by status, updated live.

import { needsScope } from '../access.js';
import { bulkBar } from '../board/bulk.js';
import { COLUMNS, column } from '../board/column.js';
import { allowDrag } from '../board/drag.js';
import { filterText, matchesFilter, setFilter } from '../board/filter.js';
import { boardKeys } from '../board/keys.js';
import { recentActivity } from '../board/recent.js';
import { workerControls } from '../board/workers.js';
import { h, setText } from '../dom.js';
import { bind } from '../keys.js';
import { load, state, watch } from '../store.js';
import { count, plural, tokens } from '../text.js';
import { emptyState, failure, loading } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { newTask } from './new-task.js';

function filterInput(update) {
  const filter = h('input', { class: 'input filter', type: 'search', value: filterText(), placeholder: 'Filter', 'aria-label': 'Filter tasks', title: 'Filter (/)' });
  filter.addEventListener('input', () => { setFilter(filter.value); update(); });
  filter.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    filter.value = '';
    setFilter('');
    filter.blur();
    update();
  });
  return filter;
}

function summary(tasks) {
  const usedTokens = tasks.reduce((sum, task) => sum + tokens(task.usage), 0);
  const verified = tasks.filter((task) => task.status === 'completed' && !task.unverified).length;
  const parts = [plural(tasks.length, 'task'), `${verified} verified`];
  const landed = tasks.filter((task) => task.landed).length;
  if (landed) parts.push(`${landed} landed`);
  const toReview = tasks.filter((task) => task.needs_review && !task.landed).length;
  if (toReview) parts.push(`${toReview} to review`);
  if (usedTokens) parts.push(`${count(usedTokens)} tokens`);
  return parts.join(' · ');
}

function welcome() {
  return emptyState('anchor', 'No tasks yet',
    h('p', {}, 'Describe a change. An agent works on it in a separate clone. Windlass runs the tests, sends failures back to the agent, and completes the task only with proof.'),
    h('div', { class: 'row' }, needsScope('work', h('button', { class: 'button main', type: 'button', on: { click: () => newTask() } }, icon('plus'), 'New task'))),
    h('p', { class: 'muted' }, 'or on the command line: ', h('code', {}, 'windlass task add "TITLE"')));
}

export function board() {
  const summaryText = h('span', { class: 'muted small num' });
  const columns = COLUMNS.map(column);
  const grid = h('div', { class: 'board' }, columns.map((entry) => entry.node));
  const fallback = h('div');
  const recentList = recentActivity();
  const bulk = bulkBar();
  const workers = workerControls();
  const update = () => {
    const blank = state.loaded && state.tasks.size === 0;
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
    filter.hidden = blank;
    setText(summaryText, blank ? '' : summary([...state.tasks.values()].filter(matchesFilter)));
    const focused = grid.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    for (const entry of columns) entry.update();
    recentList.update();
    bulk.update();
    // A focused card keeps the focus when it moves to another column.
    if (focused && !grid.contains(document.activeElement)) grid.querySelector(`.card[data-id="${focused}"]`)?.focus({ preventScroll: true });
  };
  const filter = filterInput(update);
  const running = columns.find((entry) => entry.id === 'in_progress');
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Board'), summaryText, workers.node, filter), fallback, grid, bulk.node, recentList.node);
  allowDrag(grid);
  const stops = [
    watch(['tasks', 'inbox', 'load', 'project', 'selection'], update),
    watch(['connection', 'tasks'], workers.update),
    // Fires many times a second while agents run, so only the parts that can change are updated.
    watch(['activity'], () => { running.update(); recentList.update(); }),
    bind('/', () => filter.focus()),
    ...boardKeys(grid),
  ];
  update();
  return { title: 'Board', node, leave: () => stops.forEach((stop) => stop()), setParams: () => false };
}
