// The inbox: questions and permission requests, with forms to answer them.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h, reconcile } from '../dom.js';
import { putTask, refreshInbox, state, watch } from '../store.js';
import { inputSummary, plural, toText } from '../text.js';
import { markdown } from '../markdown.js';
import { emptyState, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

const ALLOW_KINDS = new Set(['allow_once', 'allow_always']);

function taskLink(taskId) {
  const title = state.tasks.get(taskId)?.title;
  return h('a', { class: 'truncate', href: `#/tasks/${taskId}` }, `#${taskId}`, title ? ` ${title}` : '');
}

// Renders a question with its answer form. Also used by the task page.
export function blockerCard(blocker) {
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
    h('div', { class: 'body fields' }, markdown(blocker.question), form));
  return { node };
}

// Renders a permission request with the agent's options.
export function approvalCard(approval) {
  const { attempt, agent, tool, input, options } = approval;
  const choose = (option) => (event) => runAction(event.currentTarget, async () => {
    await api.decide(approval.id, option.id);
    state.approvals = state.approvals.filter((entry) => entry.id !== approval.id);
    refreshInbox();
    toast('good', `${option.label}: ${tool}`);
  });
  const sorted = [...options].sort((a, b) => ALLOW_KINDS.has(b.kind) - ALLOW_KINDS.has(a.kind));
  const buttons = sorted.map((option) => needsScope('approve', h('button', {
    class: `button ${option.kind === 'allow_once' ? 'main' : ALLOW_KINDS.has(option.kind) ? '' : 'danger'}`, type: 'button', data: { option: option.kind }, on: { click: choose(option) },
  }, option.label || option.kind.replace('_', ' '))));
  const inputText = toText(input);
  const node = h('article', { class: 'panel request', data: { approval: approval.id } },
    h('header', {}, icon('shield'), h('h2', { class: 'truncate' }, taskLink(attempt.task)), timeElement(approval.created_at)),
    h('div', { class: 'body fields' },
      h('p', {}, h('strong', {}, agent), ' requests permission to use ', h('strong', {}, tool), inputSummary(input) && [': ', h('code', {}, inputSummary(input))]),
      inputText && h('pre', { class: 'code', tabindex: '0' }, inputText),
      h('div', { class: 'row' }, buttons)));
  return { node };
}

export function inbox() {
  const summary = h('p');
  const rows = h('div', { class: 'stack' });
  const placeholder = emptyState('inbox', 'Inbox is empty',
    h('p', {}, 'Questions from blocked tasks and permission requests appear here.'));
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Inbox'), summary), rows, placeholder);
  const update = () => {
    const items = [
      ...state.approvals.map((approval) => ({ key: `a${approval.id}`, at: approval.created_at, approval })),
      ...state.blockers.map((blocker) => ({ key: `b${blocker.id}`, at: blocker.created_at, blocker })),
    ].sort((a, b) => a.at - b.at);
    placeholder.hidden = items.length > 0 || !state.loaded;
    summary.textContent = items.length
      ? [state.approvals.length && plural(state.approvals.length, 'permission request'), state.blockers.length && plural(state.blockers.length, 'question')].filter(Boolean).join(' and ')
      : '';
    summary.hidden = !items.length;
    reconcile(rows, items, (item) => item.key, (item) => (item.approval ? approvalCard(item.approval) : blockerCard(item.blocker)));
  };
  const stop = watch(['inbox', 'load'], update);
  refreshInbox();
  update();
  return { title: 'Inbox', node, leave: stop };
}
