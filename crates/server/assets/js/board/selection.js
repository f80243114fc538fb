// The selected tasks of the board, for actions on several tasks.

import { notify, state } from '../store.js';

const selected = new Set();

export const isSelected = (id) => selected.has(id);

// Returns the ids of the selected tasks that still exist, in order.
export const selectedIds = () => [...selected].filter((id) => state.tasks.has(id)).sort((a, b) => a - b);

export function toggleSelected(id, on = !selected.has(id)) {
  if (on) selected.add(id);
  else selected.delete(id);
  notify('selection');
}

export function clearSelection() {
  if (selected.size === 0) return;
  selected.clear();
  notify('selection');
}
