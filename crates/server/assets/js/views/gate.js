// Where somebody without a valid token is let in.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { notice } from '../widgets/bits.js';

// Accepts the token itself or the whole printed link.
const tokenIn = (text) => decodeURIComponent(text.trim().replace(/^.*#token=/, ''));

export function gate(words, entered) {
  const place = h('div', { 'aria-live': 'polite' }, words && notice('bad', words));
  const token = h('input', { class: 'input', id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Open');
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await api.enter(tokenIn(token.value));
      entered();
    } catch (error) {
      fill(place, notice('bad', error.status === 401 ? 'That is not the token of this server.' : error.message));
      token.select();
    }
    button.disabled = false;
  };
  document.title = 'Windlass';
  fill(document.body, h('main', { class: 'gate' }, h('form', { class: 'panel', on: { submit } },
    h('img', { src: '/mark.svg', alt: '' }),
    h('h1', {}, 'Windlass'),
    h('p', { class: 'quiet' }, 'Open the link that ', h('code', {}, 'windlass serve'), ' printed, or put it here.'),
    place,
    h('div', { class: 'field' }, h('label', { for: 'token' }, 'Link or token'), token),
    button)));
  token.focus();
}
