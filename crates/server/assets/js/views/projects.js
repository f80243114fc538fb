// All projects of the store, with their numbers and the note that every agent receives.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { fill, h, reconcile, setText } from '../dom.js';
import { markdown } from '../markdown.js';
import { projectCounts, selectProject } from '../projects.js';
import { navigate } from '../router.js';
import { state, watch } from '../store.js';
import { plural } from '../text.js';
import { emptyState, notice } from '../widgets/common.js';
import { dialog } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

function noteDialog(project, note, onSaved) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const text = h('textarea', { class: 'input', rows: '10', 'aria-label': 'Note', value: note, placeholder: 'For example: how the project is built, what must not be touched, which style is used.' });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Save');
  const form = h('form', { class: 'fields' }, h('p', { class: 'small muted' }, 'The note is part of the prompt of every agent that works on this project.'), text, problem, h('footer', {}, button));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    runAction(button, async () => {
      try {
        await api.setNote(project.id, text.value.trim());
        onSaved(text.value.trim());
        node.close();
        toast('good', `The note of ${project.name} was saved.`);
      } catch (error) {
        fill(problem, notice('bad', error.message));
      }
    });
  });
  const node = dialog(`Note for ${project.name}`, form);
  text.focus();
}

function numbers(counts) {
  const figure = (value, label, tone) => h('li', { data: { tone: value ? tone : 'none' } }, h('b', { class: 'num' }, String(value)), h('span', {}, label));
  return h('ul', { class: 'project-figures' }, figure(counts.open, 'open', 'live'), figure(counts.waiting, 'to answer', 'warn'), figure(counts.toLand, 'not landed', 'none'), figure(counts.landed, 'landed', 'good'));
}

function projectCard(project) {
  const figures = h('div');
  const note = h('div', { class: 'project-note small' });
  let text = '';
  const showNote = (next) => {
    text = next;
    fill(note, next ? markdown(next) : h('p', { class: 'muted' }, 'No note for the agents.'));
  };
  api.note(project.id).then((found) => showNote(found.note)).catch(() => {});
  const edit = needsScope('work', h('button', { class: 'button', type: 'button', on: { click: () => noteDialog(project, text, showNote) } }, icon('edit'), 'Note'));
  const open = h('button', { class: 'button main', type: 'button', on: { click: () => { selectProject(project.id); navigate('/'); } } }, 'Open the board');
  const node = h('article', { class: 'panel project', data: { project: project.id } },
    h('header', {}, icon('folder'), h('h2', { class: 'truncate' }, project.name)),
    h('div', { class: 'body fields' }, h('p', { class: 'small muted wrap' }, h('code', {}, project.root)), figures, note, h('div', { class: 'row' }, open, edit)));
  let shown = '';
  const update = () => {
    const counts = projectCounts().get(project.id);
    const next = JSON.stringify(counts);
    if (next !== shown) fill(figures, numbers(counts));
    shown = next;
  };
  return { node, update };
}

export function projects() {
  const summary = h('span', { class: 'muted small num' });
  const rows = h('div', { class: 'projects' });
  const placeholder = emptyState('folder', 'No projects yet', h('p', {}, 'A project is a repository in which ', h('code', {}, 'windlass'), ' was used.'));
  const update = () => {
    const list = [...state.projects.values()];
    placeholder.hidden = list.length > 0 || !state.loaded;
    setText(summary, list.length ? plural(list.length, 'project') : '');
    reconcile(rows, list, (project) => project.id, projectCard);
  };
  const stop = watch(['tasks', 'load', 'inbox'], update);
  update();
  const all = h('button', { class: 'button', type: 'button', on: { click: () => { selectProject(''); navigate('/'); } } }, 'Board of all projects');
  return { title: 'Projects', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Projects'), summary, all), rows, placeholder), leave: stop };
}
