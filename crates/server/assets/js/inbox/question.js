// Questions of blocked tasks: the question, the evidence, and the answer form.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { markdown } from '../markdown.js';
import { putTask, refreshInbox, state } from '../store.js';
import { plural, splitFailure, testCounts } from '../text.js';
import { pill, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';
import { taskLink } from './task-link.js';

const SHOWN_FAILURES = 2;
const LONG_QUESTION = 700;

function failures(result) {
  const shown = result.failures.slice(0, SHOWN_FAILURES);
  const more = result.failures.length - shown.length;
  return [
    h('p', { class: 'line small' }, pill(`tests ${result.status}`, result.status === 'passed' ? 'good' : 'bad'), h('span', { class: 'muted num' }, testCounts(result.counts))),
    shown.length > 0 && h('ul', { class: 'failures' }, shown.map((failure) => h('li', {}, h('code', {}, failure.name), h('pre', {}, splitFailure(failure.message).assertion)))),
    more > 0 && h('p', { class: 'small muted' }, `and ${plural(more, 'more test')}`),
  ];
}

// The last test run, and links to what the agent did.
function evidence(blocker) {
  const tests = h('div', { class: 'evidence' });
  api.tests(blocker.task_id).then((rows) => {
    const last = rows.findLast((row) => row.attempt === blocker.attempt) ?? rows.at(-1);
    if (last) fill(tests, failures(last));
  }).catch(() => {});
  const link = (tab, label) => h('a', { href: `#/tasks/${blocker.task_id}/${tab}` }, label);
  return [tests, h('p', { class: 'links small' }, link('changes', 'Changes so far'), link('tests', 'Test output'), link('attempts', `Attempt ${blocker.attempt}`))];
}

function questionText(question) {
  const text = String(question ?? '');
  if (text.length < LONG_QUESTION) return markdown(text);
  const [first, ...rest] = text.split(/\n\s*\n/);
  if (rest.length === 0) return markdown(text);
  return [markdown(first), h('details', { class: 'more' }, h('summary', {}, 'The whole question'), markdown(rest.join('\n\n')))];
}

// Renders a question with its answer form. The task page shows the evidence in its tabs.
export function blockerCard(blocker, { withEvidence = true } = {}) {
  const id = `answer-${blocker.id}`;
  const text = needsScope('approve', h('textarea', { class: 'input', id, required: true, rows: '3', placeholder: 'Your answer is sent to the next attempt.' }));
  const button = needsScope('approve', h('button', { class: 'button main', type: 'submit' }, 'Answer'));
  const form = h('form', { class: 'fields' }, h('label', { class: 'sr-only', for: id }, 'Answer'), text,
    h('footer', { class: 'row' }, h('span', { class: 'muted small' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter')), button));
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    runAction(button, async () => {
      putTask(await api.answer(blocker.id, text.value.trim()));
      state.blockers = state.blockers.filter((entry) => entry.id !== blocker.id);
      refreshInbox();
      toast('good', `Answered. Task ${blocker.task_id} resumed.`);
    });
  });
  const node = h('article', { class: 'panel request', data: { blocker: blocker.id } },
    h('header', {}, icon('question'), h('h2', { class: 'truncate' }, taskLink(blocker.task_id)), timeElement(blocker.created_at)),
    h('div', { class: 'body fields' }, questionText(blocker.question), withEvidence && evidence(blocker), form));
  return { node };
}
