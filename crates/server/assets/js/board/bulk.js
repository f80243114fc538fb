// The bar with the actions on the selected tasks.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h, setText } from '../dom.js';
import { putTask, state } from '../store.js';
import { plural } from '../text.js';
import { confirm } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';
import { clearSelection, selectedIds } from './selection.js';

const ACTIONS = [
  { name: 'retry', label: 'Retry', icon: 'retry', scope: 'work', fits: (task) => ['failed', 'cancelled', 'blocked'].includes(task.status) },
  { name: 'pause', label: 'Pause', icon: 'pause', scope: 'work', fits: (task) => ['pending', 'blocked'].includes(task.status) && !task.paused },
  { name: 'resume', label: 'Resume', icon: 'play', scope: 'work', fits: (task) => task.paused },
  { name: 'land', label: 'Land', icon: 'land', scope: 'approve', fits: (task) => task.status === 'completed' && task.branch && !task.landed && !task.land && !task.needs_review },
  { name: 'cancel', label: 'Cancel', icon: 'stop', scope: 'approve', fits: (task) => ['pending', 'in_progress', 'blocked'].includes(task.status), danger: true },
];

const DONE = { retry: 'back in the queue', pause: 'paused', resume: 'resumed', land: 'queued for landing', cancel: 'being cancelled' };

// Landing has its own queue; everything else is one request.
async function send(name, ids) {
  if (name !== 'land') return api.bulk({ ids, action: name });
  const results = [];
  for (const id of ids) {
    try {
      results.push({ id, task: await api.land(id) });
    } catch (error) {
      results.push({ id, error: error.message });
    }
  }
  return results;
}

async function run({ name, label, danger }, ids) {
  if (danger && !await confirm(`${label} ${plural(ids.length, 'task')}?`, ids.map((id) => `#${id} ${state.tasks.get(id)?.title ?? ''}`).join('\n'), `${label} ${plural(ids.length, 'task')}`, { danger })) return;
  const results = await send(name, ids);
  const failed = results.filter((entry) => entry.error);
  for (const entry of results) if (entry.task) putTask(entry.task);
  if (failed.length < results.length) toast('good', `${plural(results.length - failed.length, 'task')} ${DONE[name]}.`);
  for (const entry of failed.slice(0, 3)) toast('bad', `#${entry.id}: ${entry.error}`);
  clearSelection();
}

export function bulkBar() {
  const label = h('b', { class: 'num' });
  const buttons = ACTIONS.map((action) => {
    const number = h('span', { class: 'num muted' });
    const button = needsScope(action.scope, h('button', { class: `button ${action.danger ? 'danger' : ''}`, type: 'button', data: { bulk: action.name } }, icon(action.icon), action.label, number));
    button.addEventListener('click', () => runAction(button, () => run(action, fitting(action))));
    return { action, button, number };
  });
  const fitting = (action) => selectedIds().filter((id) => action.fits(state.tasks.get(id)));
  const close = h('button', { class: 'button plain square', type: 'button', 'aria-label': 'Clear the selection', on: { click: clearSelection } }, icon('cross'));
  const node = h('div', { class: 'bulk', role: 'toolbar', 'aria-label': 'Selected tasks', hidden: true }, label, buttons.map((entry) => entry.button), close);
  const update = () => {
    const total = selectedIds().length;
    node.hidden = total === 0;
    setText(label, `${total} selected`);
    for (const { action, button, number } of buttons) {
      const count = fitting(action).length;
      button.hidden = count === 0;
      setText(number, count < total ? String(count) : '');
    }
  };
  return { node, update };
}
