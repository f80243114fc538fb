// The dialog with the keyboard shortcuts.

import { h } from '../dom.js';
import { dialog } from '../widgets/dialog.js';

const KEYS = [
  ['Anywhere', [['n', 'New task'], ['/', 'Filter'], ['t', 'Theme'], ['?', 'Keyboard shortcuts'], ['Esc', 'Close, or back to the board']]],
  ['Go to', [['g b', 'Board'], ['g o', 'Goals'], ['g i', 'Inbox'], ['g l', 'Landing'], ['g a', 'Agents'], ['g t', 'Traces'], ['g u', 'Usage'], ['g p', 'Projects']]],
  ['On the board', [['← ↑ ↓ →', 'Move between tasks'], ['Enter', 'Open'], ['s', 'Select'], ['e', 'Edit'], ['+ −', 'Priority'], ['Esc', 'Clear the selection']]],
  ['On a task', [['1 … 5', 'Timeline, changes, tests, attempts, traces'], ['d', 'Side by side'], ['v', 'Mark the file as viewed'], ['e', 'Edit'], ['l', 'Land'], ['m', 'Merge'], ['r', 'Retry'], ['x', 'Cancel']]],
];

export function help() {
  const rows = (keys) => keys.map(([key, label]) => h('li', {}, label, h('span', {}, key.split(' ').map((part) => ['…'].includes(part) ? ' … ' : h('kbd', {}, part)))));
  dialog('Keyboard shortcuts', h('div', { class: 'shortcuts' }, KEYS.map(([title, keys]) => h('section', {}, h('h3', {}, title), h('ul', {}, rows(keys))))));
}
