// The sign-in page, shown without a valid session cookie.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { notice } from '../widgets/common.js';

// Accepts the token itself or the whole printed link.
const extractToken = (text) => decodeURIComponent(text.trim().replace(/^.*#token=/, ''));

export function loginPage(message, onLogin) {
  const errorSlot = h('div', { 'aria-live': 'polite' }, message && notice('bad', message));
  const token = h('input', { class: 'input', id: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Sign in');
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await api.login(extractToken(token.value));
      onLogin();
    } catch (error) {
      fill(errorSlot, notice('bad', error.status === 401 ? 'Invalid token.' : error.message));
      token.select();
    }
    button.disabled = false;
  };
  document.title = 'Windlass';
  fill(document.body, h('main', { class: 'login' }, h('form', { class: 'panel', on: { submit } },
    h('img', { src: '/mark.svg', alt: '' }),
    h('h1', {}, 'Windlass'),
    h('p', { class: 'muted' }, 'Open the link printed by ', h('code', {}, 'windlass serve'), ', or paste it here. Any token of ', h('code', {}, 'windlass token create'), ' with the scope read works too.'),
    errorSlot,
    h('div', { class: 'field' }, h('label', { for: 'token' }, 'Link or token'), token),
    button)));
  token.focus();
}
