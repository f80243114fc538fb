// Client state: tasks, blockers, approvals, connection. Views watch topics; the feed and the API update them.

import { api } from './api.js';
import { firstLine, inputSummary, truncate } from './text.js';

const PAGE_SIZE = 500;
const MAX_PAGES = 40;
const RECENT_EVENTS = 500;
const MAX_RECENT = 8;

export const state = {
  tasks: new Map(),
  projects: new Map(),
  blockers: [],
  approvals: [],
  activity: new Map(),
  recent: [],
  tests: new Map(),
  connection: 'connecting',
  reason: null,
  health: null,
  defaultAgent: null,
  pauses: [],
  loaded: false,
  error: null,
};

const watchers = new Set();
const dirty = new Set();
let timer = null;

// Calls `callback` shortly after any of the topics changed. Returns a function that stops watching.
export function watch(topics, callback) {
  const watcher = { topics, callback };
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function notify(...topics) {
  for (const topic of topics) dirty.add(topic);
  timer ??= setTimeout(() => {
    timer = null;
    const changedTopics = new Set(dirty);
    dirty.clear();
    for (const watcher of [...watchers]) {
      if (watcher.topics.some((topic) => changedTopics.has(topic))) watcher.callback();
    }
  }, 24);
}

const listeners = new Set();

// Calls `callback` with every event. Returns a function that stops listening.
export function listen(callback) {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

export function setConnection(connection, reason = null) {
  if (state.connection === connection && state.reason === reason) return;
  state.connection = connection;
  state.reason = reason;
  notify('connection');
}

export function putTask(task) {
  const known = state.tasks.get(task.id);
  if (known && known.updated_at > task.updated_at) return;
  state.tasks.set(task.id, task);
  notify('tasks');
}

// Fetches all tasks, page by page, up to the number that a board can show.
async function allTasks() {
  const tasks = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const more = await api.tasks({ after: tasks.at(-1)?.id, limit: PAGE_SIZE });
    tasks.push(...more);
    if (more.length < PAGE_SIZE) break;
  }
  return tasks;
}

// Reloads all data.
export async function load() {
  try {
    const [tasks, projects, blockers, approvals] = await Promise.all([
      allTasks(), api.projects(), api.blockers(), api.approvals(),
    ]);
    state.tasks = new Map(tasks.map((task) => [task.id, task]));
    state.projects = new Map(projects.map((project) => [project.id, project]));
    Object.assign(state, { blockers, approvals, loaded: true, error: null });
    loadRecent().catch(() => {});
    loadDefaultAgent().catch(() => {});
  } catch (error) {
    state.error = error;
  }
  notify('tasks', 'inbox', 'load');
}

// Loads the recent activity of running tasks from the end of the event log.
async function loadRecent() {
  const { last_event: last } = state.health ?? await api.health();
  const { events } = await api.events(Math.max(0, last - RECENT_EVENTS), { limit: RECENT_EVENTS });
  for (const event of events) recordEvent(event);
  notify('tasks', 'activity');
}

// Finds the agent of tasks that name none.
async function loadDefaultAgent() {
  const agents = await api.agents();
  state.defaultAgent = agents.find((agent) => agent.default)?.name ?? null;
  notify('tasks');
}

export async function loadHealth() {
  const [health, workers] = await Promise.all([api.health(), api.workers()]);
  state.health = health;
  setPauses(workers);
  return health;
}

export function setPauses({ pauses }) {
  state.pauses = pauses;
  notify('connection', 'tasks');
}

// Returns a function that runs `callback` after a delay, once for all calls made during the delay.
export function coalesce(callback, delayMs = 120) {
  let pending = null;
  return () => {
    pending ??= setTimeout(() => {
      pending = null;
      callback().catch(() => {});
    }, delayMs);
  };
}

export const refreshInbox = coalesce(async () => {
  const [blockers, approvals] = await Promise.all([api.blockers(), api.approvals()]);
  Object.assign(state, { blockers, approvals });
  notify('inbox');
});

const staleTasks = new Set();
const refreshTasks = coalesce(async () => {
  const ids = [...staleTasks];
  staleTasks.clear();
  const found = await Promise.all(ids.map((id) => api.task(id).catch(() => null)));
  for (const task of found) if (task) putTask(task);
  if (found.some((task) => task && !state.projects.has(task.project_id))) {
    const projects = await api.projects();
    state.projects = new Map(projects.map((project) => [project.id, project]));
    notify('tasks');
  }
});

export function refreshTask(id) {
  staleTasks.add(id);
  refreshTasks();
}

const ACTIVITY_TEXT = {
  test_result: (event) => `tests ${event.status}: ${event.passed} of ${event.total} passed`,
  correction_attempt: (event) => `correction ${event.attempt_num} of ${event.max_attempts}`,
  activity_update: (event) => firstLine(event.message),
  agent_event: (event) => agentActivity(event.envelope.event),
};

function agentActivity(event) {
  switch (event.type) {
    case 'Text': return 'writing…';
    case 'Thought': return 'thinking…';
    case 'ToolStart': return `${event.name} ${truncate(inputSummary(event.input), 80)}`;
    case 'PermissionRequest': return `requests permission: ${event.tool}`;
    case 'Error': return firstLine(event.message);
    case 'Plan': return 'updated the plan';
    default: return null;
  }
}

// Returns the text for the board's list of recent activity, or null if the event is shown on the task's page only.
function headline(event) {
  switch (event.type) {
    case 'task_status': return event.status;
    case 'test_result': return event.status === 'passed' ? 'Tests passed' : 'Tests failed';
    case 'correction_attempt': return event.status === 'in_progress' ? `Correction ${event.attempt_num} of ${event.max_attempts}` : null;
    case 'activity_update': return { approval_requested: 'Needs approval', approval_decided: 'Decided' }[event.activity_type] ?? null;
    default: return null;
  }
}

const lastStatus = new Map();

// Updates the recent activity and the current activity of the task.
function recordEvent(event) {
  const id = event.task_id;
  // Edits and landings repeat the status.
  const repeated = event.type === 'task_status' && event.status !== 'in_progress' && lastStatus.get(id) === event.status;
  if (event.type === 'task_status') lastStatus.set(id, event.status);
  const text = id == null || repeated ? null : headline(event);
  if (text && !(state.recent[0]?.seq >= event.seq)) {
    state.recent = [{ seq: event.seq, at: event.at, task: id, text, event }, ...state.recent].slice(0, MAX_RECENT);
  }
  if (event.type === 'task_status') {
    state.activity.delete(id);
    if (event.status === 'in_progress') state.tests.delete(id);
    return;
  }
  if (event.type === 'test_result') state.tests.set(id, event);
  const activity = id == null ? null : ACTIVITY_TEXT[event.type]?.(event);
  if (activity) state.activity.set(id, { text: activity, at: event.at });
}

// Applies one event from the feed.
export function applyEvent(event) {
  const id = event.task_id;
  recordEvent(event);
  if (event.type === 'task_status') {
    const task = state.tasks.get(id);
    if (task) task.status = event.status;
    refreshTask(id);
    refreshInbox();
    notify('tasks');
  } else if (id != null) {
    notify('activity');
    if (event.type === 'activity_update' && event.activity_type.startsWith('approval')) refreshInbox();
    if (!state.tasks.has(id) || event.activity_type === 'review') refreshTask(id);
  }
  for (const callback of [...listeners]) callback(event);
}
