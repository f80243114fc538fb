// Switches between the projects of the store. Hidden if there is only one.

import { h } from '../dom.js';
import { projectCounts, selectProject, selectedProject } from '../projects.js';
import { state, watch } from '../store.js';

function label(name, { open, waiting }) {
  const parts = [open && `${open} open`, waiting && `${waiting} to answer`].filter(Boolean);
  return parts.length ? `${name} (${parts.join(', ')})` : name;
}

export function projectSwitcher() {
  const select = h('select', { class: 'input project-select', 'aria-label': 'Project', hidden: true });
  let shown = '';
  const update = () => {
    select.hidden = state.projects.size < 2;
    const counts = projectCounts();
    const all = { open: 0, waiting: 0 };
    for (const entry of counts.values()) {
      all.open += entry.open;
      all.waiting += entry.waiting;
    }
    const options = [['', label('All projects', all)], ...[...state.projects.values()].map((project) => [String(project.id), label(project.name, counts.get(project.id))])];
    const next = JSON.stringify([options, selectedProject()]);
    if (next === shown) return;
    shown = next;
    select.replaceChildren(...options.map(([value, text]) => h('option', { value }, text)));
    select.value = selectedProject();
  };
  select.addEventListener('change', () => selectProject(select.value));
  watch(['tasks', 'load', 'inbox', 'project'], update);
  update();
  return select;
}
