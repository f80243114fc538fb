// The dialog to edit a task that is not running.

import { missingScope } from '../access.js';
import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { putTask, refreshTask } from '../store.js';
import { notice } from '../widgets/common.js';
import { dialog } from '../widgets/dialog.js';
import { agentSelect, field, KINDS, parseIds, PRIORITIES, select } from '../widgets/task-fields.js';
import { runAction, toast } from '../widgets/toast.js';

export const canEdit = (task) => task.status !== 'in_progress';

// Returns only what differs from the task, so that an edit does not undo another one.
function changes(task, form) {
  const values = Object.fromEntries(new FormData(form));
  const next = {
    title: values.title.trim(),
    description: values.description,
    priority: Number(values.priority),
    kind: values.kind,
    agent: values.agent || null,
    dependencies: parseIds(values.after),
    max_attempts: Number(values.attempts),
  };
  const changed = Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(task[name] ?? null));
  return Object.fromEntries(changed);
}

export function editTask(task) {
  if (missingScope('work') || document.querySelector('dialog[open]')) return;
  if (!canEdit(task)) {
    toast('warn', `Task ${task.id} is running. It can be edited when it is not.`);
    return;
  }
  const problem = h('div', { 'aria-live': 'assertive' });
  const title = h('input', { class: 'input', name: 'title', required: true, maxlength: '1000', autocomplete: 'off', value: task.title });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Save');
  const form = h('form', { class: 'fields' },
    field('Title', title),
    field('Description', h('textarea', { class: 'input', name: 'description', rows: '6', value: task.description })),
    h('div', { class: 'fields two' },
      field('Agent', agentSelect(task.agent)),
      field('Priority', select('priority', PRIORITIES, String(task.priority))),
      field('Kind', select('kind', KINDS, task.kind)),
      field('Attempts', h('input', { class: 'input', name: 'attempts', type: 'number', min: '1', max: '100', value: String(task.max_attempts) })),
      field('Depends on', h('input', { class: 'input', name: 'after', inputmode: 'numeric', pattern: '[0-9#, ]*', value: task.dependencies.join(', '), placeholder: '12, 13' }))),
    problem,
    h('footer', {}, h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' to save'), button));
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // If the task changes meanwhile, the server refuses the edit. The next one is on top of the task as it is then.
  let base = task;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    fill(problem);
    // Compared with what the dialog showed first: what another person changed meanwhile stays.
    const changed = changes(task, form);
    if (Object.keys(changed).length === 0) {
      node.close();
      return;
    }
    runAction(button, async () => {
      try {
        putTask(await api.edit(task.id, { ...changed, updated_at: base.updated_at }));
        node.close();
        toast('good', `Task ${task.id} was changed.`);
      } catch (error) {
        refreshTask(task.id);
        base = await api.task(task.id).catch(() => base);
        const again = error.status === 409 && canEdit(base) ? ' Save again to change the task as it is now.' : '';
        fill(problem, notice('bad', error.message, again));
      }
    });
  });
  const node = dialog(`Edit task ${task.id}`, form);
  title.focus();
}
