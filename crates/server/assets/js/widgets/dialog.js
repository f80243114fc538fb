// Modal dialogs. The focus stays inside and returns to the previous element on close.

import { h } from '../dom.js';
import { icon } from './icon.js';

export function dialog(title, body, { onClose } = {}) {
  const close = h('button', { class: 'button plain square', type: 'button', 'aria-label': 'Close', on: { click: () => node.close() } }, icon('cross'));
  const heading = h('h2', { id: 'dialog-title' }, title);
  const node = h('dialog', { 'aria-labelledby': 'dialog-title' }, h('header', {}, heading, close), h('div', { class: 'body' }, body));
  const previousFocus = document.activeElement;
  node.addEventListener('close', () => {
    node.remove();
    if (previousFocus?.isConnected) previousFocus.focus({ preventScroll: true });
    onClose?.();
  });
  node.addEventListener('mousedown', (event) => {
    if (event.target === node) node.close();
  });
  document.body.append(node);
  node.showModal();
  return node;
}

// Asks the user to confirm an action. Resolves to true if confirmed.
export function confirm(title, message, confirmLabel, { danger = false } = {}) {
  return new Promise((resolve) => {
    let confirmed = false;
    const confirmButton = h('button', {
      class: `button ${danger ? 'danger' : 'main'}`, type: 'button', autofocus: true,
      on: { click: () => { confirmed = true; node.close(); } },
    }, confirmLabel);
    const cancelButton = h('button', { class: 'button plain', type: 'button', on: { click: () => node.close() } }, 'Not now');
    const node = dialog(title, [message instanceof Node ? message : h('p', {}, message), h('footer', {}, cancelButton, confirmButton)], { onClose: () => resolve(confirmed) });
    confirmButton.focus();
  });
}
