// The list of recent events of all tasks.

import { h, reconcile, setText } from '../dom.js';
import { state } from '../store.js';
import { statusLabel, statusTone } from '../text.js';
import { pill, testBar, timeElement } from '../widgets/common.js';
import { matchesFilter } from './filter.js';

const TONES = {
  task_status: (event) => statusTone(event.status),
  test_result: (event) => (event.status === 'passed' ? 'good' : 'bad'),
  activity_update: (event) => (event.activity_type === 'approval_requested' ? 'warn' : 'none'),
};

function row(entry) {
  const { event } = entry;
  const tone = TONES[event.type]?.(event) ?? 'none';
  const title = h('a', { class: 'truncate', href: `#/tasks/${entry.task}` });
  const update = () => setText(title, `#${entry.task} ${state.tasks.get(entry.task)?.title ?? ''}`);
  const text = event.type === 'task_status' ? statusLabel(event.status) : entry.text;
  return { node: h('li', {}, pill(text, tone), title, event.type === 'test_result' && event.total > 0 && testBar(event), timeElement(entry.at, { small: true })), update };
}

export function recentActivity() {
  const rows = h('ol', {});
  const node = h('section', { class: 'recent', 'aria-labelledby': 'recent' }, h('h2', { id: 'recent' }, 'Recent activity'), rows);
  const update = () => {
    const shown = state.recent.filter((entry) => {
      const task = state.tasks.get(entry.task);
      return !task || matchesFilter(task);
    });
    node.hidden = shown.length === 0;
    reconcile(rows, shown, (entry) => entry.seq, row);
  };
  return { node, update };
}
