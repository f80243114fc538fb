// Dialogs: a form, a question, the list of keys. The browser keeps the focus inside and gives it back.

import { h } from '../dom.js';
import { icon } from './icon.js';

export function dialog(title, body, { onClose } = {}) {
  const close = h('button', { class: 'button plain square', type: 'button', 'aria-label': 'Close', on: { click: () => node.close() } }, icon('cross'));
  const heading = h('h2', { id: 'dialog-title' }, title);
  const node = h('dialog', { 'aria-labelledby': 'dialog-title' }, h('header', {}, heading, close), h('div', { class: 'body' }, body));
  const from = document.activeElement;
  node.addEventListener('close', () => {
    node.remove();
    if (from?.isConnected) from.focus({ preventScroll: true });
    onClose?.();
  });
  node.addEventListener('mousedown', (event) => {
    if (event.target === node) node.close();
  });
  document.body.append(node);
  node.showModal();
  return node;
}

// Asks before something that cannot be taken back. Gives true for yes.
export function confirm(title, words, yes, { danger = false } = {}) {
  return new Promise((resolve) => {
    let answer = false;
    const sure = h('button', {
      class: `button ${danger ? 'danger' : 'main'}`, type: 'button', autofocus: true,
      on: { click: () => { answer = true; node.close(); } },
    }, yes);
    const no = h('button', { class: 'button plain', type: 'button', on: { click: () => node.close() } }, 'Not now');
    const node = dialog(title, [h('p', {}, words), h('footer', {}, no, sure)], { onClose: () => resolve(answer) });
    sure.focus();
  });
}
