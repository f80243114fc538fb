// The dialog to add a task. The input stays when the dialog is closed or the request fails.

import { missingScope } from '../access.js';
import { api, newIdempotencyKey } from '../api.js';
import { fill, h } from '../dom.js';
import { selectedProject } from '../projects.js';
import { currentRoute, navigate } from '../router.js';
import { putTask, state } from '../store.js';
import { notice } from '../widgets/common.js';
import { dialog } from '../widgets/dialog.js';
import { agentSelect, field, KINDS, parseIds, PRIORITIES, select } from '../widgets/task-fields.js';
import { runAction, toast } from '../widgets/toast.js';

let draft = {};
let draftKey = newIdempotencyKey();
let open = null;

// Converts the form to the request body.
function requestBody(form) {
  const values = Object.fromEntries(new FormData(form));
  const dependencies = parseIds(values.after);
  return {
    ...(values.project ? { project_id: Number(values.project) } : {}),
    title: values.title.trim(),
    description: values.description.trim(),
    priority: Number(values.priority),
    kind: values.kind,
    max_attempts: Number(values.attempts) || 3,
    ...(values.land ? { land: true } : {}),
    ...(values.agent ? { agent: values.agent } : {}),
    ...(dependencies.length ? { dependencies } : {}),
  };
}

export function newTask() {
  if (open || missingScope('work')) return;
  const problem = h('div', { 'aria-live': 'assertive' });
  const title = h('input', { class: 'input', name: 'title', required: true, maxlength: '200', autocomplete: 'off', value: draft.title ?? '', placeholder: 'Greet the world where no name is given' });
  const description = h('textarea', { class: 'input', name: 'description', rows: '5', value: draft.description ?? '', placeholder: 'The expected result, and how to check it.' });
  const projects = [...state.projects.values()].map((project) => [String(project.id), project.name]);
  const button = h('button', { class: 'button main', type: 'submit' }, 'Add task');
  const form = h('form', { class: 'fields' },
    field('Title', title),
    field('Description', description, 'Sent to the agent with a list of relevant files. Windlass runs the tests.'),
    h('div', { class: 'fields two' },
      projects.length > 1 && field('Project', select('project', [['', 'Project of the server'], ...projects], draft.project ?? selectedProject())),
      field('Agent', agentSelect(draft.agent)),
      field('Priority', select('priority', PRIORITIES, draft.priority ?? '2')),
      field('Kind', select('kind', KINDS, draft.kind ?? 'backend')),
      field('Attempts', h('input', { class: 'input', name: 'attempts', type: 'number', min: '1', max: '20', value: draft.attempts ?? '3' })),
      field('Depends on', h('input', { class: 'input', name: 'after', inputmode: 'numeric', pattern: '[0-9#, ]*', value: draft.after ?? '', placeholder: '12, 13' }))),
    h('label', { class: 'check small' }, h('input', { type: 'checkbox', name: 'land', checked: Boolean(draft.land) }), 'Land the change when it is proved'),
    problem,
    h('footer', {}, h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' to add'), button));

  form.addEventListener('input', () => { draft = Object.fromEntries(new FormData(form)); });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    fill(problem);
    runAction(button, async () => {
      try {
        const task = await api.add(requestBody(form), draftKey);
        draft = {};
        draftKey = newIdempotencyKey();
        putTask(task);
        node.close();
        toast('good', h('a', { href: `#/tasks/${task.id}` }, `Task ${task.id}`), ' was added to the queue.');
      } catch (error) {
        // The key was used with another body: use a new key.
        if (error.status === 409) draftKey = newIdempotencyKey();
        fill(problem, notice('bad', error.message));
      }
    });
  });
  const node = dialog('New task', form, {
    onClose: () => {
      open = null;
      if (currentRoute().path === '/new') navigate('/');
    },
  });
  open = node;
  title.focus();
}
