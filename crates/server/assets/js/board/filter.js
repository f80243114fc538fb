// The filter of the board: words that must all occur in a task.

import { goalName, goalOf } from '../goals/model.js';
import { inProject } from '../projects.js';
import { state } from '../store.js';
import { agentName, isWaitingForPerson, statusLabel } from '../text.js';

let terms = [];
let text = '';

export const filterText = () => text;

export function setFilter(value) {
  text = value;
  terms = value.toLowerCase().split(/\s+/).filter(Boolean);
}

// Everything that a card or its page says about a task.
function haystack(task) {
  const project = state.projects.get(task.project_id)?.name ?? '';
  const goal = goalOf(task.id);
  return [
    `#${task.id}`, task.title, task.description, agentName(task, state.defaultAgent), task.kind, `p${task.priority}`, task.status, statusLabel(task.status),
    task.branch, task.output, project, task.unverified && 'unverified', task.needs_review && 'needs review', task.landed && 'landed', task.paused && 'paused',
    task.outdated && 'outdated', isWaitingForPerson(task, state) && 'needs input', goal && goalName(goal), ...task.dependencies.map((id) => `#${id}`),
  ].filter(Boolean).join(' ').toLowerCase();
}

export function matchesFilter(task) {
  if (!inProject(task)) return false;
  if (terms.length === 0) return true;
  const all = haystack(task);
  return terms.every((term) => all.includes(term));
}
