// Short words in a corner about what was just done.

import { h } from '../dom.js';
import { notice } from './bits.js';

const STAYS = 6000;
let place = null;

export function toast(tone, ...words) {
  place ??= document.body.appendChild(h('div', { class: 'toasts', 'aria-live': 'polite' }));
  const node = notice(tone, ...words);
  place.append(node);
  setTimeout(() => node.remove(), tone === 'bad' ? STAYS * 2 : STAYS);
}

// Runs what a button asked for: the button waits, a failure is said.
export async function act(button, work) {
  if (button?.disabled) return undefined;
  if (button) button.disabled = true;
  try {
    return await work();
  } catch (error) {
    toast('bad', error.message);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}
