// Small components used by many views.

import { fill, h } from '../dom.js';
import { formatDateTime, statusLabel, statusTone, testCounts, timeAgo, timeLeft } from '../text.js';
import { icon } from './icon.js';

export function pill(text, tone = 'none') {
  return h('span', { class: 'pill', data: { tone } }, h('i', { class: 'dot' }), text);
}

export function statusPill(task) {
  if (task.paused && task.status === 'pending') return pill('Paused', 'none');
  const mark = task.status === 'completed' && ((task.unverified && 'Unverified') || (task.needs_review && 'Needs review'));
  return pill(mark || statusLabel(task.status), mark ? 'warn' : statusTone(task.status));
}

// A relative time that is updated while the page is open. `small` omits the word "ago".
export function timeElement(at, { small = false } = {}) {
  const text = timeAgo(at);
  return h('time', { data: { at, small }, datetime: new Date(at).toISOString(), title: formatDateTime(at) }, small ? shortened(text) : text);
}

const shortened = (text) => text.replace(' ago', '').replace('just now', 'now');

// The time that is left until a deadline, updated every second.
export function countdown(deadline, label) {
  const node = h('span', { class: 'countdown num', role: 'timer', data: { deadline }, title: `${label}: ${formatDateTime(deadline)}` });
  updateCountdown(node);
  return node;
}

function updateCountdown(node) {
  const left = Number(node.dataset.deadline) - Date.now();
  const text = left > 0 ? `${timeLeft(Number(node.dataset.deadline))} left` : 'time is up';
  if (node.textContent !== text) node.textContent = text;
  node.dataset.urgent = left < 60_000;
}

export function startTimeUpdates() {
  setInterval(() => {
    for (const node of document.querySelectorAll('[data-deadline]')) updateCountdown(node);
  }, 1000);
  setInterval(() => {
    for (const node of document.querySelectorAll('time[data-at]')) {
      const full = timeAgo(Number(node.dataset.at));
      const text = node.dataset.small === 'true' ? shortened(full) : full;
      if (node.textContent !== text) node.textContent = text;
    }
  }, 5000);
}

// A bar with the shares of passed and failed tests.
export function testBar(counts) {
  const { passed, failed, errors, total } = counts;
  const rest = Math.max(0, (total ?? 0) - passed - failed - errors);
  const part = (kind, n) => n > 0 && h('i', { class: kind, vars: { part: n } });
  return h('div', { class: 'bar', role: 'img', 'aria-label': testCounts(counts) }, part('good', passed), part('bad', failed), part('error', errors), part('', rest));
}

export function emptyState(name, title, ...more) {
  return h('div', { class: 'empty' }, icon(name), h('h2', {}, title), more);
}

export function notice(tone, ...text) {
  const names = { bad: 'warn', warn: 'question', good: 'check' };
  return h('div', { class: 'notice', data: { tone }, role: tone === 'bad' ? 'alert' : 'status' }, icon(names[tone] ?? 'text'), h('div', {}, text));
}

export function loading() {
  return h('div', { class: 'loading', role: 'status', 'aria-label': 'Loading' }, h('i'), h('i'), h('i'));
}

// Shows an error with a button to retry.
export function failure(error, retry) {
  const id = error.id ? h('p', { class: 'muted small' }, `request ${error.id}`) : null;
  return h('div', { class: 'empty' }, icon('warn'), h('h2', {}, 'Request failed'), h('p', {}, error.message), id,
    retry && h('div', { class: 'row' }, h('button', { class: 'button', type: 'button', on: { click: retry } }, icon('retry'), 'Try again')));
}

// Shows the result of `load` in a container, with a placeholder while it loads and an error if it fails.
export async function loadInto(container, load, show) {
  const ticket = {};
  container.ticket = ticket;
  if (!container.firstChild) fill(container, loading());
  try {
    const value = await load();
    if (container.ticket === ticket) fill(container, show(value));
  } catch (error) {
    if (container.ticket === ticket) fill(container, failure(error, () => { fill(container); loadInto(container, load, show); }));
  }
}

export function panel(title, body, { aside, tone } = {}) {
  return h('section', { class: 'panel', data: { tone } }, h('header', {}, h('h2', {}, title), aside), h('div', { class: 'body' }, body));
}

export function facts(rows) {
  const shown = rows.filter(([, value]) => value != null && value !== '' && value !== false);
  return h('dl', { class: 'facts' }, shown.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}
