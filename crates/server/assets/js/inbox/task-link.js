// The link to a task, with its title.

import { h } from '../dom.js';
import { state } from '../store.js';

export function taskLink(taskId) {
  const title = state.tasks.get(taskId)?.title;
  return h('a', { class: 'truncate', href: `#/tasks/${taskId}`, title }, `#${taskId}`, title ? ` ${title}` : '');
}
