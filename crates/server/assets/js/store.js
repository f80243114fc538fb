// What the page knows: tasks, questions, the connection. Views watch topics; the feed and the API change them.

import { api } from './api.js';
import { brief, cut, firstLine } from './text.js';

const PAGE = 500;
const PAGES = 40;
const RECENT = 500;
const LATELY = 8;

export const state = {
  tasks: new Map(),
  projects: new Map(),
  blockers: [],
  approvals: [],
  live: new Map(),
  lately: [],
  tests: new Map(),
  link: 'connecting',
  reason: null,
  health: null,
  loaded: false,
  error: null,
};

const readers = new Set();
const dirty = new Set();
let timer = null;

// Calls `act` soon after any of the topics changed. Gives a function that stops it.
export function watch(topics, act) {
  const reader = { topics, act };
  readers.add(reader);
  return () => readers.delete(reader);
}

export function changed(...topics) {
  for (const topic of topics) dirty.add(topic);
  timer ??= setTimeout(() => {
    timer = null;
    const now = new Set(dirty);
    dirty.clear();
    for (const reader of [...readers]) {
      if (reader.topics.some((topic) => now.has(topic))) reader.act();
    }
  }, 24);
}

const listeners = new Set();

// Calls `act` with every event as it comes.
export function listen(act) {
  listeners.add(act);
  return () => listeners.delete(act);
}

export function setLink(link, reason = null) {
  if (state.link === link && state.reason === reason) return;
  state.link = link;
  state.reason = reason;
  changed('link');
}

export function putTask(task) {
  const known = state.tasks.get(task.id);
  if (known && known.updated_at > task.updated_at) return;
  state.tasks.set(task.id, task);
  changed('tasks');
}

// All tasks, page by page, up to as many as a board can bear.
async function allTasks() {
  const tasks = [];
  for (let page = 0; page < PAGES; page += 1) {
    const more = await api.tasks({ after: tasks.at(-1)?.id, limit: PAGE });
    tasks.push(...more);
    if (more.length < PAGE) break;
  }
  return tasks;
}

// Reads everything anew.
export async function load() {
  try {
    const [tasks, projects, blockers, approvals] = await Promise.all([
      allTasks(), api.projects(), api.blockers(), api.approvals(),
    ]);
    state.tasks = new Map(tasks.map((task) => [task.id, task]));
    state.projects = new Map(projects.map((project) => [project.id, project]));
    Object.assign(state, { blockers, approvals, loaded: true, error: null });
    recall().catch(() => {});
  } catch (error) {
    state.error = error;
  }
  changed('tasks', 'inbox', 'load');
}

// What was done last, for the tasks that are under way: from the end of the log.
async function recall() {
  const { last_event: last } = state.health ?? await api.health();
  const { events } = await api.events(Math.max(0, last - RECENT), { limit: RECENT });
  for (const event of events) note(event);
  changed('tasks', 'live');
}

export async function loadHealth() {
  state.health = await api.health();
  changed('link');
  return state.health;
}

// Reads again soon, once for many wishes.
function soon(act, pause = 120) {
  let waits = null;
  return () => {
    waits ??= setTimeout(() => {
      waits = null;
      act().catch(() => {});
    }, pause);
  };
}

export const refreshInbox = soon(async () => {
  const [blockers, approvals] = await Promise.all([api.blockers(), api.approvals()]);
  Object.assign(state, { blockers, approvals });
  changed('inbox');
});

const wanted = new Set();
const refreshTasks = soon(async () => {
  const ids = [...wanted];
  wanted.clear();
  const found = await Promise.all(ids.map((id) => api.task(id).catch(() => null)));
  for (const task of found) if (task) putTask(task);
  if (found.some((task) => task && !state.projects.has(task.project_id))) {
    const projects = await api.projects();
    state.projects = new Map(projects.map((project) => [project.id, project]));
    changed('tasks');
  }
});

export function refreshTask(id) {
  wanted.add(id);
  refreshTasks();
}

const LIVE = {
  test_result: (event) => `tests ${event.status}: ${event.passed} of ${event.total} passed`,
  correction_attempt: (event) => `correction ${event.attempt_num} of ${event.max_attempts}`,
  activity_update: (event) => firstLine(event.message),
  agent_event: (event) => deed(event.envelope.event),
};

function deed(event) {
  switch (event.type) {
    case 'Text': return 'writing…';
    case 'Thought': return 'thinking…';
    case 'ToolStart': return `${event.name} ${cut(brief(event.input), 80)}`;
    case 'PermissionRequest': return `asks whether it may: ${event.tool}`;
    case 'Error': return firstLine(event.message);
    case 'Plan': return 'made a plan';
    default: return null;
  }
}

// What is worth a line on the board, in words; the rest is for the task's own page.
function headline(event) {
  switch (event.type) {
    case 'task_status': return event.status;
    case 'test_result': return event.status === 'passed' ? 'Tests passed' : 'Tests failed';
    case 'correction_attempt': return event.status === 'in_progress' ? `Correction ${event.attempt_num} of ${event.max_attempts}` : null;
    case 'activity_update': return { approval_requested: 'Asks you', approval_decided: 'Decided' }[event.activity_type] ?? null;
    default: return null;
  }
}

// Keeps what the board says about a task that is under way.
function note(event) {
  const id = event.task_id;
  const words = id == null ? null : headline(event);
  if (words && !(state.lately[0]?.seq >= event.seq)) {
    state.lately = [{ seq: event.seq, at: event.at, task: id, words, event }, ...state.lately].slice(0, LATELY);
  }
  if (event.type === 'task_status') {
    state.live.delete(id);
    if (event.status === 'in_progress') state.tests.delete(id);
    return;
  }
  if (event.type === 'test_result') state.tests.set(id, event);
  const doing = id == null ? null : LIVE[event.type]?.(event);
  if (doing) state.live.set(id, { words: doing, at: event.at });
}

// Takes one event from the feed.
export function hear(event) {
  const id = event.task_id;
  note(event);
  if (event.type === 'task_status') {
    const task = state.tasks.get(id);
    if (task) task.status = event.status;
    refreshTask(id);
    refreshInbox();
    changed('tasks');
  } else if (id != null) {
    changed('live');
    if (event.type === 'activity_update' && event.activity_type.startsWith('approval')) refreshInbox();
    if (!state.tasks.has(id)) refreshTask(id);
  }
  for (const act of [...listeners]) act(event);
}
