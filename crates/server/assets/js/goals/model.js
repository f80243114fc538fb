// Goals: tasks that came from one plan, or that are connected by dependencies.

import { state } from '../store.js';

let goals = [];
let byTask = new Map();
let computedFor = null;

// Returns a text that changes if and only if the groups may change.
const signature = () => [...state.tasks.values()].map((task) => `${task.id}:${task.issue_id ?? ''}:${task.candidate_of ?? ''}:${task.dependencies.join(',')}`).join(';');

function compute() {
  const parent = new Map([...state.tasks.keys()].map((id) => [id, id]));
  const root = (id) => {
    let top = id;
    while (parent.get(top) !== top) top = parent.get(top);
    parent.set(id, top);
    return top;
  };
  const join = (a, b) => {
    if (parent.has(a) && parent.has(b)) parent.set(root(a), root(b));
  };
  const issues = new Map();
  for (const task of state.tasks.values()) {
    for (const dependency of task.dependencies) join(task.id, dependency);
    if (task.candidate_of != null) join(task.id, task.candidate_of);
    if (task.issue_id != null) {
      const key = `${task.project_id} ${task.issue_id}`;
      join(task.id, issues.get(key) ?? task.id);
      issues.set(key, task.id);
    }
  }
  const groups = new Map();
  for (const id of state.tasks.keys()) {
    const top = root(id);
    groups.set(top, [...(groups.get(top) ?? []), id]);
  }
  goals = [...groups.values()].filter((ids) => ids.length > 1).map((ids) => {
    const tasks = ids.sort((a, b) => a - b);
    return { id: tasks[0], tasks };
  }).sort((a, b) => b.id - a.id);
  byTask = new Map(goals.flatMap((goal) => goal.tasks.map((id) => [id, goal])));
}

function refresh() {
  const current = signature();
  if (current === computedFor) return;
  computedFor = current;
  compute();
}

// Returns all goals, the newest first. A goal has the id of its first task.
export function allGoals() {
  refresh();
  return goals;
}

// Returns the goal of a task, or undefined if the task has no goal.
export function goalOf(id) {
  refresh();
  return byTask.get(id);
}

export const goalTasks = (goal) => goal.tasks.map((id) => state.tasks.get(id)).filter(Boolean);

// A goal is called after the task that everything else leads to, or after its first task.
export function goalName(goal) {
  const tasks = goalTasks(goal);
  const needed = new Set(tasks.flatMap((task) => task.dependencies));
  const last = tasks.filter((task) => !needed.has(task.id) && task.candidate_of == null);
  return (last.length === 1 ? last[0] : tasks[0])?.title ?? `#${goal.id}`;
}

// Candidates are part of their task, so they do not count.
export function goalProgress(goal) {
  const tasks = goalTasks(goal).filter((task) => task.candidate_of == null);
  const count = (accepts) => tasks.filter(accepts).length;
  return {
    total: tasks.length,
    done: count((task) => task.status === 'completed'),
    landed: count((task) => task.landed),
    running: count((task) => task.status === 'in_progress'),
    waiting: count((task) => task.status === 'blocked'),
    stopped: count((task) => task.status === 'failed' || task.status === 'cancelled'),
  };
}
