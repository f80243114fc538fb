// Large numbers with their meaning below.

import { h } from '../dom.js';

export function figures(pairs) {
  return h('div', { class: 'figures' }, pairs.map(([value, label]) => h('div', { class: 'figure' }, h('b', { class: 'num' }, value), h('span', {}, label))));
}
