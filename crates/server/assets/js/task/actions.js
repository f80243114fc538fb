// The actions on a task: merge, retry, cancel.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h } from '../dom.js';
import { bind } from '../keys.js';
import { putTask } from '../store.js';
import { plural } from '../text.js';
import { confirm } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

// The scope that each action needs.
const SCOPES = { cancel: 'approve', retry: 'work', merge: 'approve' };

const can = {
  cancel: (task) => ['pending', 'in_progress', 'blocked'].includes(task.status),
  retry: (task) => ['failed', 'cancelled', 'blocked'].includes(task.status),
  merge: (task) => task.status === 'completed' && Boolean(task.branch),
};

async function cancel(task) {
  const confirmed = await confirm(`Cancel task ${task.id}?`, task.status === 'in_progress'
    ? 'The agent is stopped at its next heartbeat. Its change so far is kept under Changes. Your checkout is not changed.'
    : 'The task is removed from the queue. You can retry it later.', 'Cancel task', { danger: true });
  if (!confirmed) return;
  putTask(await api.cancel(task.id));
  toast('good', `Cancelling task ${task.id}.`);
}

async function retry(task) {
  putTask(await api.retry(task.id));
  toast('good', `Task ${task.id} is back in the queue.`);
}

const warnings = async (task) => ((await api.proof(task.id))?.warnings ?? []).map((warning) => `${warning.kind}: ${warning.detail}`);

async function merge(task) {
  const confirmed = task.needs_review
    ? await confirm(`Accept the warnings and merge ${task.branch}?`, (await warnings(task)).join('\n'), 'Accept and merge', { danger: true })
    : await confirm(`Merge ${task.branch}?`, 'Merges the branch into the project\'s current branch. Aborts if an uncommitted edit would be overwritten.', 'Merge');
  if (!confirmed) return;
  if (task.needs_review) putTask(await api.accept(task.id));
  const merged = await api.merge(task.id);
  if (merged?.status === 'nothing') {
    toast('good', 'Already up to date.');
  } else {
    const undo = merged?.undo && [' To undo: ', h('code', {}, merged.undo)];
    toast('good', `Merged ${task.branch} into ${merged?.into ?? 'the current branch'}: ${plural(merged?.files?.length ?? 0, 'file')}.`, undo);
  }
}

export function actions(current) {
  const button = (name, iconName, label, run, kind = '') => {
    const node = needsScope(SCOPES[name], h('button', { class: `button ${kind}`, type: 'button', data: { action: name } }, icon(iconName), label));
    node.addEventListener('click', () => runAction(node, () => run(current())));
    return [name, node];
  };
  const buttons = new Map([
    button('cancel', 'stop', 'Cancel', cancel),
    button('retry', 'retry', 'Retry', retry),
    button('merge', 'merge', 'Merge', merge, 'main'),
  ]);
  const press = (name) => () => buttons.get(name).hidden || buttons.get(name).click();
  return {
    node: h('div', { class: 'row actions' }, [...buttons.values()]),
    update: (task) => { for (const [name, node] of buttons) node.hidden = !can[name](task); },
    keys: () => [bind('m', press('merge')), bind('r', press('retry')), bind('x', press('cancel'))],
  };
}
