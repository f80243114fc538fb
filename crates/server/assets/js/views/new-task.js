// Adding a task. What was typed survives a closed dialog and a failed request.

import { api, key } from '../api.js';
import { fill, h } from '../dom.js';
import { go, here } from '../router.js';
import { putTask, state } from '../store.js';
import { notice } from '../widgets/bits.js';
import { dialog } from '../widgets/dialog.js';
import { act, toast } from '../widgets/toast.js';

const PRIORITIES = [['0', '0 · first'], ['1', '1 · high'], ['2', '2 · normal'], ['3', '3 · low'], ['4', '4 · last']];
const KINDS = [['backend', 'Backend'], ['frontend', 'Frontend'], ['test', 'Tests']];

let draft = {};
let draftKey = key();
let open = null;

function field(label, control, hint) {
  const id = `new-${label.toLowerCase().replace(/\W+/g, '-')}`;
  control.id = id;
  return h('div', { class: 'field' }, h('label', { for: id }, label), control, hint && h('span', { class: 'hint' }, hint));
}

function select(name, options, chosen) {
  return h('select', { class: 'input', name }, options.map(([value, words]) => h('option', { value, selected: value === chosen }, words)));
}

function agentSelect() {
  const node = select('agent', [['', 'As configured']], '');
  api.agents().then((agents) => {
    for (const agent of agents.filter((one) => one.health === 'ok')) {
      node.append(h('option', { value: agent.name, selected: agent.name === draft.agent }, agent.name));
    }
  }).catch(() => {});
  return node;
}

// What was typed, as the API wants it.
function wish(form) {
  const values = Object.fromEntries(new FormData(form));
  const dependencies = (values.after ?? '').split(/[\s,#]+/).filter(Boolean).map(Number);
  return {
    ...(values.project ? { project_id: Number(values.project) } : {}),
    title: values.title.trim(),
    description: values.description.trim(),
    priority: Number(values.priority),
    kind: values.kind,
    max_attempts: Number(values.attempts) || 3,
    ...(values.agent ? { agent: values.agent } : {}),
    ...(dependencies.length ? { dependencies } : {}),
  };
}

export function newTask() {
  if (open) return;
  const problem = h('div', { 'aria-live': 'assertive' });
  const title = h('input', { class: 'input', name: 'title', required: true, maxlength: '200', autocomplete: 'off', value: draft.title ?? '', placeholder: 'Greet the world where no name is given' });
  const description = h('textarea', { class: 'input', name: 'description', rows: '5', value: draft.description ?? '', placeholder: 'What should be different afterwards, and how it can be seen.' });
  const projects = [...state.projects.values()].map((project) => [String(project.id), project.name]);
  const button = h('button', { class: 'button main', type: 'submit' }, 'Add task');
  const form = h('form', { class: 'fields' },
    field('Title', title),
    field('Description', description, 'The agent gets this with the files that probably matter. Windlass runs the tests itself.'),
    h('div', { class: 'fields two' },
      projects.length > 1 && field('Project', select('project', [['', 'The one served here'], ...projects], draft.project ?? '')),
      field('Agent', agentSelect()),
      field('Priority', select('priority', PRIORITIES, draft.priority ?? '2')),
      field('Kind', select('kind', KINDS, draft.kind ?? 'backend')),
      field('Attempts', h('input', { class: 'input', name: 'attempts', type: 'number', min: '1', max: '20', value: draft.attempts ?? '3' })),
      field('After tasks', h('input', { class: 'input', name: 'after', inputmode: 'numeric', pattern: '[0-9#, ]*', value: draft.after ?? '', placeholder: '12, 13' }))),
    problem,
    h('footer', {}, h('span', { class: 'hint' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter'), ' adds it'), button));

  form.addEventListener('input', () => { draft = Object.fromEntries(new FormData(form)); });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    fill(problem);
    act(button, async () => {
      try {
        const task = await api.add(wish(form), draftKey);
        draft = {};
        draftKey = key();
        putTask(task);
        node.close();
        toast('good', h('a', { href: `#/tasks/${task.id}` }, `Task ${task.id}`), ' is in the queue.');
      } catch (error) {
        // Another body needs another key.
        if (error.status === 409) draftKey = key();
        fill(problem, notice('bad', error.message));
      }
    });
  });
  const node = dialog('New task', form, {
    onClose: () => {
      open = null;
      if (here().path === '/new') go('/');
    },
  });
  open = node;
  title.focus();
}
