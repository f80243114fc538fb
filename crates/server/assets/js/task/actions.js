// What a person can do about a task: merge, retry, cancel.

import { api } from '../api.js';
import { h } from '../dom.js';
import { bind } from '../keys.js';
import { putTask } from '../store.js';
import { plural } from '../text.js';
import { confirm } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { act, toast } from '../widgets/toast.js';

const can = {
  cancel: (task) => ['pending', 'in_progress', 'blocked'].includes(task.status),
  retry: (task) => ['failed', 'cancelled', 'blocked'].includes(task.status),
  merge: (task) => task.status === 'completed' && Boolean(task.branch),
};

async function cancel(task) {
  const sure = await confirm(`Cancel task ${task.id}?`, task.status === 'in_progress'
    ? 'The agent is stopped at its next heartbeat. What it did in its clone is thrown away; your checkout was never touched.'
    : 'It leaves the queue. It can be tried again later.', 'Cancel the task', { danger: true });
  if (!sure) return;
  putTask(await api.cancel(task.id));
  toast('good', `Task ${task.id} was asked to stop.`);
}

async function retry(task) {
  putTask(await api.retry(task.id));
  toast('good', `Task ${task.id} is back in the queue.`);
}

async function merge(task) {
  const sure = await confirm(`Merge ${task.branch}?`, 'The change is brought into what is checked out in the project. Nothing is merged if that would lose an uncommitted edit.', 'Merge');
  if (!sure) return;
  const done = await api.merge(task.id);
  if (done?.status === 'nothing') {
    toast('good', 'Everything in it was there already.');
  } else {
    const undo = done?.undo && [' To undo it: ', h('code', {}, done.undo)];
    toast('good', `${task.branch} is in ${done?.into ?? 'the checkout'}: ${plural(done?.files?.length ?? 0, 'file')}.`, undo);
  }
}

export function actions(current) {
  const button = (name, mark, words, work, kind = '') => {
    const node = h('button', { class: `button ${kind}`, type: 'button', data: { action: name } }, icon(mark), words);
    node.addEventListener('click', () => act(node, () => work(current())));
    return [name, node];
  };
  const all = new Map([
    button('cancel', 'stop', 'Cancel', cancel),
    button('retry', 'retry', 'Retry', retry),
    button('merge', 'merge', 'Merge', merge, 'main'),
  ]);
  const press = (name) => () => all.get(name).hidden || all.get(name).click();
  return {
    node: h('div', { class: 'row actions' }, [...all.values()]),
    update: (task) => { for (const [name, node] of all) node.hidden = !can[name](task); },
    keys: () => [bind('m', press('merge')), bind('r', press('retry')), bind('x', press('cancel'))],
  };
}
