// Completed tasks that a person must look at.

import { h } from '../dom.js';
import { state } from '../store.js';
import { firstLine, stripMarkdown, truncate } from '../text.js';
import { timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { taskLink } from './task-link.js';

export const toReview = () => [...state.tasks.values()].filter((task) => task.status === 'completed' && task.needs_review && !task.landed)
  .sort((a, b) => a.updated_at - b.updated_at);

export function reviewCard(task) {
  const node = h('article', { class: 'panel request', data: { review: task.id } },
    h('header', {}, icon('seal'), h('h2', { class: 'truncate' }, taskLink(task.id)), timeElement(task.completed_at ?? task.updated_at)),
    h('div', { class: 'body fields' },
      h('p', { class: 'small' }, truncate(firstLine(stripMarkdown(task.output)) || 'The proof has warnings.', 300)),
      h('div', { class: 'row' }, h('a', { class: 'button main', href: `#/tasks/${task.id}/changes` }, 'Review the change'))));
  return { node };
}
