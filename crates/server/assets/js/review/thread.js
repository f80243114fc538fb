// The comments on one line or file of a change: those of earlier reviews, the drafts, and the form for a new one.

import { missingScope } from '../access.js';
import { h } from '../dom.js';
import { markdown } from '../markdown.js';
import { pill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

const DECISION = { request_changes: ['requested changes', 'warn'], approve: ['approved', 'good'] };

// Who wrote a review, marked if it was an agent.
export function authorLine(review, version, { withDecision = true } = {}) {
  const decision = withDecision && DECISION[review.decision];
  return h('p', { class: 'author small' }, icon(review.author_kind === 'agent' ? 'agents' : 'comment'), h('b', {}, review.author),
    review.author_kind === 'agent' && h('span', { class: 'chip' }, 'agent'), decision && pill(...decision),
    review.attempt !== version && h('span', { class: 'muted' }, `on version ${review.attempt}`), timeElement(review.created_at));
}

function stored({ review, comment }, version) {
  return h('li', { class: 'comment', data: { author: review.author_kind } }, authorLine(review, version, { withDecision: false }), markdown(comment.text));
}

function draft(comment, drafts) {
  const remove = h('button', { class: 'button plain square', type: 'button', 'aria-label': 'Delete the comment', on: { click: () => drafts.remove(comment) } }, icon('cross'));
  return h('li', { class: 'comment draft' }, h('p', { class: 'author small' }, icon('comment'), h('b', {}, 'You'), h('span', { class: 'chip' }, 'not sent yet'), remove), markdown(comment.text));
}

// Returns a form that calls `onAdd(text)` or `onCancel()`.
export function commentForm(label, onAdd, onCancel) {
  const text = h('textarea', { class: 'input', rows: '3', required: true, maxlength: '16000', 'aria-label': label, placeholder: 'What should be different here?' });
  const form = h('form', { class: 'comment-form' }, text,
    h('div', { class: 'row' }, h('span', { class: 'muted small keys' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter')),
      h('button', { class: 'button plain', type: 'button', on: { click: onCancel } }, 'Cancel'), h('button', { class: 'button main', type: 'submit' }, 'Add comment')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (text.value.trim()) onAdd(text.value.trim());
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === 'Escape') {
      event.stopPropagation();
      if (!text.value.trim()) onCancel();
    }
  });
  return Object.assign(form, { focusText: () => text.focus() });
}

export const mayComment = () => !missingScope('approve') || !missingScope('work');

// `place` is `{ path, line, side }`. `comments` are of earlier reviews.
export function thread(place, comments, { drafts, version, form }) {
  const own = drafts.ofFile(place.path).filter((entry) => (entry.line ?? null) === (place.line ?? null) && (place.line == null || entry.side === place.side));
  return h('div', { class: 'thread' }, h('ul', {}, comments.map((entry) => stored(entry, version)), own.map((entry) => draft(entry, drafts))), form);
}
