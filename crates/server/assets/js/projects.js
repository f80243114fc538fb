// The project that the page shows: one, or all of them. The choice is stored.

import { notify, state } from './store.js';

const KEY = 'windlass.project';
let selected = '';
try {
  selected = localStorage.getItem(KEY) ?? '';
} catch {
  // No storage: all projects.
}

// Returns the id of the selected project as text, or '' for all projects.
export const selectedProject = () => (state.projects.has(Number(selected)) ? selected : '');

export function selectProject(id) {
  selected = String(id ?? '');
  try {
    localStorage.setItem(KEY, selected);
  } catch {
    // Without storage, the choice applies to this page only.
  }
  notify('project');
}

// Returns true if a task belongs to the selected project.
export function inProject(task) {
  const project = selectedProject();
  return !project || !task || String(task.project_id) === project;
}

// Returns how many tasks of each project are open, wait for a person, are not landed, and are landed; by id.
export function projectCounts() {
  const counts = new Map([...state.projects.keys()].map((id) => [id, { open: 0, waiting: 0, toLand: 0, landed: 0 }]));
  for (const task of state.tasks.values()) {
    const entry = counts.get(task.project_id);
    if (!entry) continue;
    if (['pending', 'in_progress', 'blocked'].includes(task.status)) entry.open += 1;
    if (task.landed) entry.landed += 1;
    else if (task.status === 'completed' && task.branch) entry.toLand += 1;
    if (task.status === 'blocked' || state.approvals.some((approval) => approval.attempt.task === task.id)) entry.waiting += 1;
  }
  return counts;
}
