// The candidates of a task that several agents work on, side by side.

import { h } from '../dom.js';
import { state } from '../store.js';
import { agentName, count, formatCost, formatDuration, testCounts, tokens } from '../text.js';
import { facts, panel, pill, statusPill, testBar } from '../widgets/common.js';

export const candidatesOf = (id) => [...state.tasks.values()].filter((task) => task.candidate_of === id).sort((a, b) => a.id - b.id);

// The change of the chosen candidate is that of the parent.
const isChosen = (candidate, parent) => parent.status === 'completed' && parent.branch != null && parent.branch === candidate.branch;

function card(candidate, parent) {
  const tests = state.tests.get(candidate.id);
  const chosen = isChosen(candidate, parent);
  return h('article', { class: 'candidate', data: { chosen } },
    h('header', {}, h('h3', {}, h('a', { href: `#/tasks/${candidate.id}` }, agentName(candidate, state.defaultAgent))), chosen ? pill('Chosen', 'good') : statusPill(candidate)),
    tests && testBar(tests),
    facts([
      ['Tests', tests && testCounts(tests)],
      ['Warnings', candidate.needs_review && 'yes'],
      ['Attempt', String(candidate.attempt)],
      ['Time', candidate.completed_at && formatDuration(candidate.completed_at - candidate.created_at)],
      ['Tokens', tokens(candidate.usage) > 0 && count(tokens(candidate.usage))],
      ['Cost', candidate.usage?.cost_usd != null && formatCost(candidate.usage.cost_usd)],
    ]),
    h('p', { class: 'links small' }, h('a', { href: `#/tasks/${candidate.id}/changes` }, 'Changes'), h('a', { href: `#/tasks/${candidate.id}/tests` }, 'Tests')));
}

export function candidatesPanel(parent) {
  const list = candidatesOf(parent.id);
  if (list.length === 0) return null;
  const cost = list.reduce((sum, task) => sum + (task.usage?.cost_usd ?? 0), 0);
  return panel('Candidates', h('div', { class: 'candidates' }, list.map((task) => card(task, parent))), { aside: h('span', { class: 'muted small num' }, [`${list.length} agents`, cost > 0 && formatCost(cost)].filter(Boolean).join(' · ')) });
}
