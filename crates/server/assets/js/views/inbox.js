// The inbox: permission requests first, because their turns run out; then questions and changes to review, by project.

import { h, reconcile, setText } from '../dom.js';
import { approvalCard } from '../inbox/approval.js';
import { blockerCard } from '../inbox/question.js';
import { reviewCard, toReview } from '../inbox/review.js';
import { refreshInbox, state, watch } from '../store.js';
import { inProject } from '../projects.js';
import { plural } from '../text.js';
import { emptyState } from '../widgets/common.js';

// Those with the least time left come first.
const byDeadline = (a, b) => (a.deadline ?? Infinity) - (b.deadline ?? Infinity) || a.created_at - b.created_at;

const SECTIONS = [
  {
    title: 'Permission requests',
    note: 'The agent waits, and its turn has a time limit.',
    items: () => state.approvals.filter((approval) => inProject(state.tasks.get(approval.attempt.task))).sort(byDeadline),
    make: approvalCard,
    key: (approval) => `a${approval.id}`,
  },
  {
    title: 'Questions',
    note: 'The task waits for an answer.',
    items: () => state.blockers.filter((blocker) => inProject(state.tasks.get(blocker.task_id))).sort((a, b) => a.created_at - b.created_at),
    make: (blocker) => blockerCard(blocker),
    key: (blocker) => `b${blocker.id}`,
  },
  {
    title: 'Changes to review',
    note: 'The tests passed, with warnings.',
    items: () => toReview().filter(inProject),
    make: reviewCard,
    key: (task) => `t${task.id}`,
  },
];

function section({ title, note, items, make, key }) {
  const id = `inbox-${title.toLowerCase().replaceAll(' ', '-')}`;
  const number = h('span', { class: 'count num' });
  const rows = h('div', { class: 'requests' });
  const node = h('section', { class: 'inbox-section', 'aria-labelledby': id }, h('header', {}, h('h2', { id }, title), number, h('span', { class: 'muted small' }, note)), rows);
  const update = () => {
    const list = items();
    node.hidden = list.length === 0;
    setText(number, String(list.length));
    reconcile(rows, list, key, make);
    return list.length;
  };
  return { node, update };
}

export function inbox() {
  const summary = h('p');
  const sections = SECTIONS.map(section);
  const placeholder = emptyState('inbox', 'Inbox is empty',
    h('p', {}, 'Questions from blocked tasks and permission requests appear here.'));
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Inbox'), summary), sections.map((entry) => entry.node), placeholder);
  const update = () => {
    const [approvals, questions, reviews] = sections.map((entry) => entry.update());
    const total = approvals + questions + reviews;
    placeholder.hidden = total > 0 || !state.loaded;
    setText(summary, [approvals && plural(approvals, 'permission request'), questions && plural(questions, 'question'), reviews && `${plural(reviews, 'change')} to review`].filter(Boolean).join(' · '));
    summary.hidden = total === 0;
  };
  const stop = watch(['inbox', 'tasks', 'load', 'project'], update);
  refreshInbox();
  update();
  return { title: 'Inbox', node, leave: stop };
}
