// The actions on a task: edit, pause, retry, cancel, merge, land.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { canEdit, editTask } from '../board/edit.js';
import { h } from '../dom.js';
import { bind } from '../keys.js';
import { putTask, refreshTask } from '../store.js';
import { plural } from '../text.js';
import { facts, notice } from '../widgets/common.js';
import { confirm } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast, toastAction } from '../widgets/toast.js';

// The scope that each action needs.
const SCOPES = { edit: 'work', pause: 'work', resume: 'work', cancel: 'approve', retry: 'work', merge: 'approve', unland: 'work', land: 'approve' };

const SHOWN_FILES = 8;

const can = {
  edit: canEdit,
  pause: (task) => ['pending', 'blocked'].includes(task.status) && !task.paused,
  resume: (task) => task.paused,
  cancel: (task) => ['pending', 'in_progress', 'blocked'].includes(task.status),
  retry: (task) => ['failed', 'cancelled', 'blocked'].includes(task.status) || Boolean(task.landed),
  merge: (task) => task.status === 'completed' && Boolean(task.branch) && !task.landed,
  land: (task) => task.status === 'completed' && Boolean(task.branch) && !task.landed && !task.land,
  unland: (task) => task.land && !task.landed,
};

async function cancel(task) {
  const confirmed = await confirm(`Cancel task ${task.id}?`, task.status === 'in_progress'
    ? 'The agent is stopped at its next heartbeat. Its change so far is kept under Changes. Your checkout is not changed.'
    : 'The task is removed from the queue. You can retry it later.', 'Cancel task', { danger: true });
  if (!confirmed) return;
  putTask(await api.cancel(task.id));
  toast('good', `Cancelling task ${task.id}.`);
}

async function pause(task) {
  putTask(await api.pause(task.id));
  toast('good', `Task ${task.id} is paused: no worker takes it.`);
}

async function resume(task) {
  putTask(await api.resume(task.id));
  toast('good', `Task ${task.id} is back in the queue.`);
}

async function retry(task) {
  if (task.landed && !await confirm(`Work on task ${task.id} again?`, 'Its change has landed, and stays on the target branch. The task is worked on again.', 'Retry', { danger: true })) return;
  putTask(await api.retry(task.id, task.landed ? { landed: true } : {}));
  toast('good', `Task ${task.id} is back in the queue.`);
}

// What the merge would do: the branch it goes to, the files, and the warnings of the proof.
async function mergeSummary(task) {
  const [preview, proof] = await Promise.all([api.mergePreview(task.id), api.proof(task.id).catch(() => null)]);
  const warnings = proof?.warnings ?? [];
  const files = preview.files ?? [];
  return h('div', { class: 'fields' },
    facts([
      ['From', h('code', {}, task.branch)],
      ['Into', h('code', {}, preview.into ?? 'the current branch')],
      ['Files', files.length > 0 && [plural(files.length, 'file'), h('ul', { class: 'cases' }, files.slice(0, SHOWN_FILES).map((path) => h('li', {}, h('code', {}, path))), files.length > SHOWN_FILES && h('li', { class: 'muted' }, `and ${files.length - SHOWN_FILES} more`))]],
    ]),
    preview.status === 'nothing' && notice('good', 'Nothing to merge: the branch already has the change.'),
    warnings.map((warning) => notice('warn', warning.detail ?? warning)),
    h('p', { class: 'small muted' }, 'The merge is refused if it would overwrite an uncommitted edit.'));
}

async function merge(task) {
  const summary = await mergeSummary(task);
  const confirmed = task.needs_review
    ? await confirm('Accept the warnings and merge?', summary, 'Accept and merge', { danger: true })
    : await confirm('Merge this change?', summary, 'Merge');
  if (!confirmed) return;
  if (task.needs_review) putTask(await api.accept(task.id));
  const merged = await api.merge(task.id);
  refreshTask(task.id);
  if (merged?.status === 'nothing') {
    toast('good', 'Already up to date.');
  } else {
    const undo = merged?.undo && [' To undo: ', h('code', {}, merged.undo)];
    toast('good', `Merged ${task.branch} into ${merged?.into ?? 'the current branch'}: ${plural(merged?.files?.length ?? 0, 'file')}.`, undo);
  }
}

async function land(task) {
  if (task.needs_review) {
    const proof = await api.proof(task.id).catch(() => null);
    const warnings = h('div', { class: 'fields' }, (proof?.warnings ?? []).map((warning) => notice('warn', warning.detail ?? warning)));
    if (!await confirm('Accept the warnings and land?', warnings, 'Accept and land', { danger: true })) return;
    putTask(await api.accept(task.id));
  }
  putTask(await api.land(task.id));
  toast('good', `Task ${task.id} is in the landing queue. `, h('a', { href: '#/landings' }, 'Show the queue'));
}

async function unland(task) {
  putTask(await api.unland(task.id));
  toast('good', `Task ${task.id} does not land.`);
}

// A change that conflicts with its target can land: its agent solves the conflict. Others can be worked on again.
const afterConflict = (task) => (error) => {
  if (error.status !== 409) return null;
  const offer = (label, run) => toastAction(label, (event) => runAction(event.currentTarget, () => run(task)));
  if (can.land(task)) return offer('Put it into the landing queue', land);
  return can.retry(task) ? offer('Retry on the current commit', retry) : null;
};

export function actions(current) {
  const button = (name, iconName, label, run, kind = '') => {
    const node = needsScope(SCOPES[name], h('button', { class: `button ${kind}`, type: 'button', data: { action: name } }, icon(iconName), label));
    node.addEventListener('click', () => runAction(node, () => run(current()), afterConflict(current())));
    return [name, node];
  };
  const buttons = new Map([
    button('edit', 'edit', 'Edit', (task) => editTask(task)),
    button('pause', 'pause', 'Pause', pause),
    button('resume', 'play', 'Resume', resume),
    button('cancel', 'stop', 'Cancel', cancel),
    button('retry', 'retry', 'Retry', retry),
    button('merge', 'merge', 'Merge', merge),
    button('unland', 'stop', 'Do not land', unland),
    button('land', 'land', 'Land', land, 'main'),
  ]);
  const press = (name) => () => buttons.get(name).hidden || buttons.get(name).click();
  return {
    node: h('div', { class: 'row actions' }, [...buttons.values()]),
    update: (task) => { for (const [name, node] of buttons) node.hidden = !can[name](task); },
    keys: () => [bind('m', press('merge')), bind('r', press('retry')), bind('e', press('edit')), bind('l', press('land')), bind('x', press('cancel'))],
  };
}
