// The board: every task in the column of its status, live.

import { h, keep, put, say } from '../dom.js';
import { bind } from '../keys.js';
import { load, state, watch } from '../store.js';
import { brief, count, plain, plural, statusTone, statusWord, tokens } from '../text.js';
import { empty, failure, loading, pill, statusPill, testBar, when } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';
import { newTask } from './new-task.js';

const COLUMNS = [
  { name: 'Waiting', statuses: ['pending'], icon: 'clock', none: 'Nothing waits.' },
  { name: 'Working', statuses: ['in_progress'], icon: 'anchor', none: 'Nobody works right now.' },
  { name: 'Needs you', statuses: ['blocked'], icon: 'question', none: 'No open question.' },
  { name: 'Done', statuses: ['completed'], icon: 'seal', none: 'Nothing yet. Done means proved.' },
  { name: 'Stopped', statuses: ['failed', 'cancelled'], icon: 'stop', none: 'Nothing failed.' },
];
const WORKING = COLUMNS.findIndex((one) => one.name === 'Working');
const OVER = new Set(['completed', 'failed', 'cancelled']);
const SHOWN = 40;
// Longer without a word than this, and it is no longer a start.
const STARTING = 15_000;

let wanted = '';
let project = '';

function fits(task) {
  if (project && String(task.project_id) !== project) return false;
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `#${task.id} ${task.title} ${task.agent ?? ''} ${task.status}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function order(column) {
  if (OVER.has(column.statuses[0])) return (a, b) => b.updated_at - a.updated_at || b.id - a.id;
  return (a, b) => a.priority - b.priority || a.workflow_step - b.workflow_step || a.id - b.id;
}

function card(task) {
  const title = h('h3', {});
  const live = h('p', { class: 'live cut' });
  const meta = h('div', { class: 'meta' });
  const tests = h('div', { class: 'tests' });
  const node = h('a', { class: 'card', href: `#/tasks/${task.id}`, data: { id: task.id } }, title, live, tests, meta);
  const update = (now) => {
    say(title, now.title);
    node.dataset.status = now.status;
    node.dataset.waits = asked(now) != null;
    say(live, liveWords(now));
    live.hidden = !live.textContent;
    const result = state.tests.get(now.id);
    tests.replaceChildren(...(result && now.status !== 'pending' ? [testBar(result)] : []));
    meta.replaceChildren();
    put(meta, h('span', { class: 'num' }, `#${now.id}`),
      now.agent && h('span', { class: 'cut' }, now.agent),
      now.priority < 2 && h('span', { class: 'first' }, `P${now.priority}`),
      now.attempt > 1 && !OVER.has(now.status) && h('span', {}, `attempt ${now.attempt}`),
      (now.status === 'failed' || now.status === 'cancelled' || now.unverified) && statusPill(now),
      when(OVER.has(now.status) ? now.completed_at ?? now.updated_at : now.status === 'pending' ? now.created_at : now.updated_at, { small: true }));
  };
  return { node, update };
}

// What its agent asks before it goes on.
const asked = (task) => (task.status === 'in_progress' ? state.approvals.find((approval) => approval.attempt.task === task.id) : null);

function liveWords(task) {
  const approval = asked(task);
  if (approval) return `asks whether it may: ${approval.tool} ${brief(approval.input)}`;
  if (task.status === 'in_progress') return state.live.get(task.id)?.words ?? (Date.now() - task.updated_at < STARTING ? 'starting…' : 'working…');
  if (task.status === 'blocked') return plain(state.blockers.find((blocker) => blocker.task_id === task.id)?.question ?? task.output);
  if (task.status === 'pending' && task.dependencies.length) return `after ${task.dependencies.map((id) => `#${id}`).join(', ')}`;
  if (task.status === 'failed') return plain(task.output);
  return '';
}

function column(about) {
  const number = h('span', { class: 'count num' });
  const cards = h('div', { class: 'cards' });
  const none = h('p', { class: 'none' }, about.none);
  const more = h('button', { class: 'button plain', type: 'button', hidden: true });
  let limit = SHOWN;
  more.addEventListener('click', () => { limit += SHOWN * 5; update(); });
  const id = `column-${about.statuses[0]}`;
  const node = h('section', { class: 'column', 'aria-labelledby': id, data: { column: about.statuses[0] } },
    h('header', {}, icon(about.icon), h('h2', { id }, about.name), number), cards, none, more);
  const update = () => {
    const tasks = [...state.tasks.values()].filter((task) => about.statuses.includes(task.status) && fits(task)).sort(order(about));
    say(number, tasks.length ? String(tasks.length) : '');
    node.dataset.empty = tasks.length === 0;
    none.hidden = tasks.length > 0;
    more.hidden = tasks.length <= limit;
    say(more, `${tasks.length - limit} older`);
    keep(cards, tasks.slice(0, limit), (task) => task.id, card);
  };
  return { node, update };
}

// The last things that happened, anywhere.
function lately() {
  const rows = h('ol', {});
  const node = h('section', { class: 'lately', 'aria-labelledby': 'lately' }, h('h2', { id: 'lately' }, 'Lately'), rows);
  const row = (one) => {
    const { event } = one;
    const status = event.type === 'task_status';
    const tones = {
      task_status: () => statusTone(event.status),
      test_result: () => (event.status === 'passed' ? 'good' : 'bad'),
      activity_update: () => (event.activity_type === 'approval_requested' ? 'ask' : 'none'),
    };
    const tone = tones[event.type]?.() ?? 'none';
    const title = h('a', { class: 'cut', href: `#/tasks/${one.task}` });
    const update = () => say(title, `#${one.task} ${state.tasks.get(one.task)?.title ?? ''}`);
    return { node: h('li', {}, pill(status ? statusWord(event.status) : one.words, tone), title, event.type === 'test_result' && event.total > 0 && testBar(event), when(one.at, { small: true })), update };
  };
  const update = () => {
    node.hidden = state.lately.length === 0;
    keep(rows, state.lately, (one) => one.seq, row);
  };
  return { node, update };
}

// Arrow keys go from card to card, in the direction that they point to.
function move(root, event) {
  const columns = [...root.querySelectorAll('.column')].map((one) => [...one.querySelectorAll('.card')]).filter((cards) => cards.length);
  const at = columns.findIndex((cards) => cards.includes(document.activeElement));
  if (columns.length === 0) return;
  if (at < 0) {
    columns[0][0].focus();
    return;
  }
  const row = columns[at].indexOf(document.activeElement);
  const dx = { ArrowLeft: -1, h: -1, ArrowRight: 1, l: 1 }[event.key] ?? 0;
  const dy = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key] ?? 0;
  const cards = columns[Math.min(Math.max(at + dx, 0), columns.length - 1)];
  cards[Math.min(Math.max(row + dy, 0), cards.length - 1)].focus();
}

function toolbar(update) {
  const filter = h('input', { class: 'input filter', type: 'search', value: wanted, placeholder: 'Filter', 'aria-label': 'Filter tasks', title: 'Filter (/)' });
  filter.addEventListener('input', () => { wanted = filter.value; update(); });
  filter.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { filter.value = wanted = ''; filter.blur(); update(); }
  });
  const projects = h('select', { class: 'input', 'aria-label': 'Project', hidden: true });
  projects.addEventListener('change', () => { project = projects.value; update(); });
  const refresh = () => {
    projects.hidden = state.projects.size < 2;
    if (projects.options.length !== state.projects.size + 1) {
      projects.replaceChildren(h('option', { value: '' }, 'All projects'));
      for (const one of state.projects.values()) projects.append(h('option', { value: String(one.id) }, one.name));
      projects.value = project;
    }
  };
  return { filter, projects, refresh };
}

function summary(tasks) {
  const spent = tasks.reduce((sum, task) => sum + tokens(task.usage), 0);
  const proved = tasks.filter((task) => task.status === 'completed' && !task.unverified).length;
  const parts = [plural(tasks.length, 'task'), `${proved} proved`];
  if (spent) parts.push(`${count(spent)} tokens`);
  return parts.join(' · ');
}

export function board() {
  const words = h('span', { class: 'quiet small num' });
  const columns = COLUMNS.map(column);
  const grid = h('div', { class: 'board' }, columns.map((one) => one.node));
  const instead = h('div');
  const news = lately();
  const update = () => {
    const tasks = [...state.tasks.values()];
    const blank = state.loaded && tasks.length === 0;
    const bad = !state.loaded && state.error;
    grid.hidden = blank || !state.loaded;
    instead.hidden = !grid.hidden;
    if (!instead.hidden) {
      const kind = blank ? 'blank' : bad ? 'bad' : 'wait';
      if (instead.dataset.kind !== kind) {
        instead.dataset.kind = kind;
        instead.replaceChildren(blank ? welcome() : bad ? failure(state.error, load) : loading());
      }
    }
    bar.refresh();
    bar.filter.hidden = blank;
    say(words, blank ? '' : summary(tasks.filter(fits)));
    const focused = grid.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    for (const one of columns) one.update();
    news.update();
    // A card that changed its column takes the focus along.
    if (focused && !grid.contains(document.activeElement)) grid.querySelector(`.card[data-id="${focused}"]`)?.focus({ preventScroll: true });
  };
  const bar = toolbar(update);
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Board'), words, bar.projects, bar.filter), instead, grid, news.node);
  const stops = [
    watch(['tasks', 'inbox', 'load'], update),
    // Many times a second while agents work: only what can have changed.
    watch(['live'], () => { columns[WORKING].update(); news.update(); }),
    bind('/', () => bar.filter.focus()),
    ...['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'h', 'j', 'k', 'l'].map((key) => bind(key, (event) => move(grid, event))),
  ];
  update();
  return { title: 'Board', node, leave: () => stops.forEach((stop) => stop()), turn: () => false };
}

function welcome() {
  return empty('anchor', 'Nothing in the queue',
    h('p', {}, 'Say what you want done. An agent works on it in a clone of its own, Windlass runs the tests, sends failures back, and calls it done only with proof.'),
    h('div', { class: 'row' }, h('button', { class: 'button main', type: 'button', on: { click: () => newTask() } }, icon('plus'), 'New task')),
    h('p', { class: 'quiet' }, 'or on the command line: ', h('code', {}, 'windlass task add "what you want done"')));
}
