// Short notifications in a corner of the page.

import { h } from '../dom.js';
import { notice } from './common.js';
import { icon } from './icon.js';

const DURATION_MS = 6000;
const MAX_TOASTS = 4;
let container = null;

export function toast(tone, ...content) {
  container ??= document.body.appendChild(h('div', { class: 'toasts', 'aria-live': 'polite' }));
  const node = notice(tone, ...content);
  node.append(h('button', { class: 'button plain square close', type: 'button', 'aria-label': 'Close', on: { click: () => node.remove() } }, icon('cross')));
  container.append(node);
  while (container.children.length > MAX_TOASTS) container.firstElementChild.remove();
  // A toast stays while its content is used.
  const close = () => (node.matches(':hover, :focus-within') ? setTimeout(close, DURATION_MS) : node.remove());
  setTimeout(close, tone === 'bad' ? DURATION_MS * 2 : DURATION_MS);
}

// A button in a toast.
export const toastAction = (label, action) => h('div', { class: 'row' }, h('button', { class: 'button', type: 'button', on: { click: action } }, label));

// Runs the action of a button. The button is disabled while it runs, and an error is shown as a toast, with what
// `onError` offers to do about it.
export async function runAction(button, action, onError) {
  if (button?.disabled) return undefined;
  if (button) button.disabled = true;
  try {
    return await action();
  } catch (error) {
    toast('bad', error.message, onError?.(error));
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}
