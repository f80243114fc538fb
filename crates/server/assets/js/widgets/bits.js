// Small pieces that many views show.

import { fill, h } from '../dom.js';
import { ago, moment, statusTone, statusWord } from '../text.js';
import { icon } from './icon.js';

export function pill(words, tone = 'none') {
  return h('span', { class: 'pill', data: { tone } }, h('i', { class: 'dot' }), words);
}

export function statusPill(task) {
  const words = task.status === 'completed' && task.unverified ? 'Unverified' : statusWord(task.status);
  return pill(words, task.unverified ? 'ask' : statusTone(task.status));
}

// A moment that stays true while the page is open. `small` leaves out what the eye can supply.
export function when(at, { small = false } = {}) {
  const words = ago(at);
  return h('time', { data: { at, small }, datetime: new Date(at).toISOString(), title: moment(at) }, small ? smaller(words) : words);
}

const smaller = (words) => words.replace(' ago', '').replace('just now', 'now');

export function keepTime() {
  setInterval(() => {
    for (const node of document.querySelectorAll('time[data-at]')) {
      const full = ago(Number(node.dataset.at));
      const words = node.dataset.small === 'true' ? smaller(full) : full;
      if (node.textContent !== words) node.textContent = words;
    }
  }, 5000);
}

// How tests ended, as a strip.
export function testBar({ passed, failed, errors, total }) {
  const rest = Math.max(0, (total ?? 0) - passed - failed - errors);
  const part = (kind, n) => n > 0 && h('i', { class: kind, vars: { part: n } });
  const label = `${passed} passed, ${failed} failed${errors ? `, ${errors} errors` : ''}`;
  return h('div', { class: 'bar', role: 'img', 'aria-label': label }, part('good', passed), part('bad', failed), part('odd', errors), part('', rest));
}

export function empty(name, title, ...more) {
  return h('div', { class: 'empty' }, icon(name), h('h2', {}, title), more);
}

export function notice(tone, ...words) {
  const names = { bad: 'warn', ask: 'question', good: 'check' };
  return h('div', { class: 'notice', data: { tone }, role: tone === 'bad' ? 'alert' : 'status' }, icon(names[tone] ?? 'text'), h('div', {}, words));
}

export function loading() {
  return h('div', { class: 'loading', role: 'status', 'aria-label': 'Loading' }, h('i'), h('i'), h('i'));
}

// What went wrong, with a way to try again.
export function failure(error, again) {
  const id = error.id ? h('p', { class: 'quiet small' }, `request ${error.id}`) : null;
  return h('div', { class: 'empty' }, icon('warn'), h('h2', {}, 'That did not work'), h('p', {}, error.message), id,
    again && h('div', { class: 'row' }, h('button', { class: 'button', type: 'button', on: { click: again } }, icon('retry'), 'Try again')));
}

// Fills a place with what comes of `load`, with its waiting and its failing.
export async function loaded(place, load, show) {
  const ticket = {};
  place.ticket = ticket;
  if (!place.firstChild) fill(place, loading());
  try {
    const value = await load();
    if (place.ticket === ticket) fill(place, show(value));
  } catch (error) {
    if (place.ticket === ticket) fill(place, failure(error, () => { fill(place); loaded(place, load, show); }));
  }
}

export function panel(title, body, { aside, tone } = {}) {
  return h('section', { class: 'panel', data: { tone } }, h('header', {}, h('h2', {}, title), aside), h('div', { class: 'body' }, body));
}

export function facts(rows) {
  const shown = rows.filter(([, value]) => value != null && value !== '' && value !== false);
  return h('dl', { class: 'facts' }, shown.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}
