// The inbox: questions and permission requests, answered where they stand.

import { api } from '../api.js';
import { h, keep } from '../dom.js';
import { putTask, refreshInbox, state, watch } from '../store.js';
import { brief, plural, readable } from '../text.js';
import { markdown } from '../markdown.js';
import { empty, when } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';
import { act, toast } from '../widgets/toast.js';

const YES = new Set(['allow_once', 'allow_always']);

function about(taskId) {
  const title = state.tasks.get(taskId)?.title;
  return h('a', { class: 'cut', href: `#/tasks/${taskId}` }, `#${taskId}`, title ? ` ${title}` : '');
}

// A question with room for its answer. The task page shows it too.
export function question(blocker) {
  const id = `answer-${blocker.id}`;
  const text = h('textarea', { class: 'input', id, required: true, rows: '3', placeholder: 'Your answer goes to the next attempt.' });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Answer');
  const form = h('form', { class: 'fields' }, h('label', { class: 'spoken', for: id }, 'Answer'), text,
    h('footer', { class: 'row' }, h('span', { class: 'quiet small' }, h('kbd', {}, 'Ctrl'), ' ', h('kbd', {}, 'Enter')), button));
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act(button, async () => {
      putTask(await api.answer(blocker.id, text.value.trim()));
      state.blockers = state.blockers.filter((one) => one.id !== blocker.id);
      refreshInbox();
      toast('good', `Answered. Task ${blocker.task_id} goes on.`);
    });
  });
  const node = h('article', { class: 'panel ask', data: { blocker: blocker.id } },
    h('header', {}, icon('question'), h('h2', { class: 'cut' }, about(blocker.task_id)), when(blocker.created_at)),
    h('div', { class: 'body fields' }, markdown(blocker.question), form));
  return { node };
}

// A permission request with the agent's own options.
export function request(approval) {
  const { attempt, agent, tool, input, options } = approval;
  const choose = (option) => (event) => act(event.currentTarget, async () => {
    await api.decide(approval.id, option.id);
    state.approvals = state.approvals.filter((one) => one.id !== approval.id);
    refreshInbox();
    toast('good', `${option.label}: ${tool}`);
  });
  const sorted = [...options].sort((a, b) => YES.has(b.kind) - YES.has(a.kind));
  const buttons = sorted.map((option) => h('button', {
    class: `button ${option.kind === 'allow_once' ? 'main' : YES.has(option.kind) ? '' : 'danger'}`, type: 'button', data: { option: option.kind }, on: { click: choose(option) },
  }, option.label || option.kind.replace('_', ' ')));
  const shown = readable(input);
  const node = h('article', { class: 'panel ask', data: { approval: approval.id } },
    h('header', {}, icon('shield'), h('h2', { class: 'cut' }, about(attempt.task)), when(approval.created_at)),
    h('div', { class: 'body fields' },
      h('p', {}, h('strong', {}, agent), ' asks whether it may use ', h('strong', {}, tool), brief(input) && [': ', h('code', {}, brief(input))]),
      shown && h('pre', { class: 'code', tabindex: '0' }, shown),
      h('div', { class: 'row' }, buttons)));
  return { node };
}

export function inbox() {
  const words = h('p');
  const rows = h('div', { class: 'stack' });
  const none = empty('inbox', 'Nobody waits for you',
    h('p', {}, 'When an agent cannot go on without an answer, or may not do something without your word, it is asked here.'));
  const node = h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Inbox'), words), rows, none);
  const update = () => {
    const items = [
      ...state.approvals.map((approval) => ({ key: `a${approval.id}`, at: approval.created_at, approval })),
      ...state.blockers.map((blocker) => ({ key: `b${blocker.id}`, at: blocker.created_at, blocker })),
    ].sort((a, b) => a.at - b.at);
    none.hidden = items.length > 0 || !state.loaded;
    words.textContent = items.length
      ? [state.approvals.length && plural(state.approvals.length, 'permission request'), state.blockers.length && plural(state.blockers.length, 'question')].filter(Boolean).join(' and ')
      : '';
    words.hidden = !items.length;
    keep(rows, items, (item) => item.key, (item) => (item.approval ? request(item.approval) : question(item.blocker)));
  };
  const stop = watch(['inbox', 'load'], update);
  refreshInbox();
  update();
  return { title: 'Inbox', node, leave: stop };
}
