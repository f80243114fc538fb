// Short notifications in a corner of the page.

import { h } from '../dom.js';
import { notice } from './common.js';

const DURATION_MS = 6000;
let container = null;

export function toast(tone, ...content) {
  container ??= document.body.appendChild(h('div', { class: 'toasts', 'aria-live': 'polite' }));
  const node = notice(tone, ...content);
  container.append(node);
  setTimeout(() => node.remove(), tone === 'bad' ? DURATION_MS * 2 : DURATION_MS);
}

// Runs the action of a button. The button is disabled while it runs, and an error is shown as a toast.
export async function runAction(button, action) {
  if (button?.disabled) return undefined;
  if (button) button.disabled = true;
  try {
    return await action();
  } catch (error) {
    toast('bad', error.message);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}
