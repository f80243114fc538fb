// The keyboard on the board: moves between cards, and does with the focused card what the mouse can do.

import { bind } from '../keys.js';
import { state } from '../store.js';
import { changePriority } from './drag.js';
import { toggleSelected, clearSelection } from './selection.js';
import { editTask } from './edit.js';

const focusedTask = () => {
  const id = document.activeElement?.classList.contains('card') ? Number(document.activeElement.dataset.id) : null;
  return id == null ? null : state.tasks.get(id);
};

// Moves the focus from card to card with the arrow keys.
function moveFocus(root, event) {
  const columns = [...root.querySelectorAll('.column')].map((entry) => [...entry.querySelectorAll('.card')]).filter((cards) => cards.length);
  const columnIndex = columns.findIndex((cards) => cards.includes(document.activeElement));
  if (columns.length === 0) return;
  if (columnIndex < 0) {
    columns[0][0].focus();
    return;
  }
  const row = columns[columnIndex].indexOf(document.activeElement);
  const dx = { ArrowLeft: -1, h: -1, ArrowRight: 1, l: 1 }[event.key] ?? 0;
  const dy = { ArrowUp: -1, k: -1, ArrowDown: 1, j: 1 }[event.key] ?? 0;
  const cards = columns[Math.min(Math.max(columnIndex + dx, 0), columns.length - 1)];
  cards[Math.min(Math.max(row + dy, 0), cards.length - 1)].focus();
}

// Binds the keys. Returns functions that remove the bindings.
export function boardKeys(root) {
  const withTask = (action) => () => {
    const task = focusedTask();
    if (task) action(task);
  };
  return [
    ...['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'h', 'j', 'k', 'l'].map((key) => bind(key, (event) => moveFocus(root, event))),
    bind('s', withTask((task) => toggleSelected(task.id))),
    bind('e', withTask((task) => editTask(task))),
    bind('+', withTask((task) => changePriority(task, task.priority - 1))),
    bind('-', withTask((task) => changePriority(task, task.priority + 1))),
    bind('Escape', clearSelection),
  ];
}
