// Dragging cards: onto another card of the same column to take its priority, or onto another column to change the
// status where that is allowed. The keyboard does the same with + and − and with the actions of a task.

import { missingScope } from '../access.js';
import { api } from '../api.js';
import { putTask, state } from '../store.js';
import { toast } from '../widgets/toast.js';

const TYPE = 'text/plain';
const OPEN = new Set(['pending', 'in_progress', 'blocked']);
let dragged = null;

// What a drop on a column does with a task, or null if it is not allowed.
function columnAction(task, column) {
  if (column === 'pending' && ['failed', 'cancelled', 'blocked'].includes(task.status)) return { scope: 'work', run: () => api.retry(task.id), text: `Task ${task.id} is back in the queue.` };
  if (column === 'failed' && OPEN.has(task.status)) return { scope: 'approve', run: () => api.cancel(task.id), text: `Cancelling task ${task.id}.` };
  return null;
}

const mayDrop = (task, column) => (task.status === 'pending' && column === 'pending') || columnAction(task, column) != null;

// Sets the priority of a task that is not running.
export async function changePriority(task, priority) {
  const next = Math.min(4, Math.max(0, priority));
  if (next === task.priority || missingScope('work')) return;
  if (task.status === 'in_progress') {
    toast('warn', `Task ${task.id} is running: its priority has no effect.`);
    return;
  }
  try {
    putTask(await api.edit(task.id, { priority: next, updated_at: task.updated_at }));
    toast('good', `Task ${task.id} has priority ${next}.`);
  } catch (error) {
    toast('bad', error.message);
  }
}

async function drop(task, column, onCard) {
  if (task.status === 'pending' && column === 'pending') {
    const target = onCard && state.tasks.get(onCard);
    if (target && target.id !== task.id) await changePriority(task, target.priority);
    return;
  }
  const action = columnAction(task, column);
  const reason = action && missingScope(action.scope);
  if (!action || reason) {
    toast('warn', reason ?? 'That is not possible.');
    return;
  }
  try {
    putTask(await action.run());
    toast('good', action.text);
  } catch (error) {
    toast('bad', error.message);
  }
}

export function allowDrag(grid) {
  const columnOf = (event) => event.target.closest?.('.column')?.dataset.column;
  const clear = () => {
    dragged = null;
    for (const node of grid.querySelectorAll('[data-drop]')) delete node.dataset.drop;
  };
  grid.addEventListener('dragstart', (event) => {
    const card = event.target.closest?.('.card');
    dragged = card ? state.tasks.get(Number(card.dataset.id)) : null;
    if (!dragged) return;
    event.dataTransfer.setData(TYPE, `#${dragged.id}`);
    event.dataTransfer.effectAllowed = 'move';
    for (const node of grid.querySelectorAll('.column')) node.dataset.drop = String(mayDrop(dragged, node.dataset.column));
  });
  grid.addEventListener('dragover', (event) => {
    if (!dragged || !mayDrop(dragged, columnOf(event))) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'move';
  });
  grid.addEventListener('drop', (event) => {
    if (!dragged) return;
    event.preventDefault();
    const task = dragged;
    const onCard = Number(event.target.closest?.('.card-slot')?.dataset.id);
    const column = columnOf(event);
    clear();
    drop(task, column, onCard);
  });
  grid.addEventListener('dragend', clear);
}
