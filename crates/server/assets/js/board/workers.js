// Pauses and resumes the workers.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { selectedProject } from '../projects.js';
import { setPauses, state } from '../store.js';
import { escapeControl } from '../text.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

// Returns the pause that applies to a project: its own, or that of all projects.
export const pauseOf = (project) => state.pauses.find((pause) => pause.project_id == null || String(pause.project_id) === String(project ?? ''));

export function workerControls() {
  const button = needsScope('approve', h('button', { class: 'button', type: 'button', data: { action: 'pause-workers' } }));
  const toggle = async () => {
    const project = selectedProject();
    const body = project ? { project_id: Number(project) } : {};
    const paused = pauseOf(project);
    if (paused) {
      setPauses(await api.resumeWorkers(paused.project_id == null ? {} : { project_id: paused.project_id }));
      toast('good', 'The workers take tasks again.');
    } else {
      setPauses(await api.pauseWorkers({ ...body, reason: 'paused in the dashboard' }));
      toast('good', 'The workers take no new tasks. Running tasks continue.');
    }
    update();
  };
  button.addEventListener('click', () => runAction(button, toggle));
  const update = () => {
    const paused = pauseOf(selectedProject());
    button.setAttribute('aria-pressed', String(Boolean(paused)));
    button.title = paused ? escapeControl(`Paused${paused.reason ? `: ${paused.reason}` : ''}`) : 'Workers take no new tasks while they are paused';
    button.setAttribute('aria-label', paused ? 'Resume workers' : 'Pause workers');
    fill(button, icon(paused ? 'play' : 'pause'), h('span', { class: 'label' }, paused ? 'Resume workers' : 'Pause workers'));
  };
  update();
  return { node: button, update };
}
