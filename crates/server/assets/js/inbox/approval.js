// Permission requests with the options that the agent offers.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h } from '../dom.js';
import { refreshInbox, state } from '../store.js';
import { inputBlocks } from '../task/tool.js';
import { inputSummary, unwrapShell } from '../text.js';
import { countdown, timeElement } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';
import { taskLink } from './task-link.js';

// Every agent has its own words for its options. The kinds are the same for all.
const LABELS = { allow_once: 'Allow once', allow_always: 'Always allow', reject_once: 'Reject', reject_always: 'Always reject' };
const ORDER = ['allow_once', 'allow_always', 'reject_once', 'reject_always'];

const PATH_KEYS = ['path', 'file_path', 'filePath'];

// Splits what the tool would do into what fits into a sentence and the rest, so that nothing is shown twice.
function request(input) {
  if (input == null || input === '') return {};
  const summary = inputSummary(input);
  if (typeof input !== 'object') return summary === input ? { summary } : { details: h('pre', { class: 'code', tabindex: '0' }, input) };
  const command = input.command ?? input.cmd;
  if (command != null && unwrapShell(command) === summary) return { summary };
  if (command != null) return { details: inputBlocks(input) };
  const rest = Object.fromEntries(Object.entries(input).filter(([key, value]) => !PATH_KEYS.includes(key) && value !== summary));
  return { summary, details: Object.keys(rest).length > 0 && inputBlocks(rest) };
}

function optionButtons(approval) {
  const { options, tool } = approval;
  const label = (option) => {
    const alone = options.filter((other) => other.kind === option.kind).length === 1;
    return (alone && LABELS[option.kind]) || option.label || option.kind.replace('_', ' ');
  };
  const choose = (option) => (event) => runAction(event.currentTarget, async () => {
    await api.decide(approval.id, option.id);
    state.approvals = state.approvals.filter((entry) => entry.id !== approval.id);
    refreshInbox();
    toast('good', `${label(option)}: ${tool}`);
  });
  const sorted = [...options].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const style = (kind) => (kind === 'allow_once' ? 'main' : kind === 'allow_always' ? '' : 'danger');
  return sorted.map((option) => needsScope('approve', h('button', {
    class: `button ${style(option.kind)}`, type: 'button', title: option.label, data: { option: option.kind }, on: { click: choose(option) },
  }, label(option))));
}

export function approvalCard(approval) {
  const { attempt, agent, tool, input } = approval;
  const { summary, details } = request(input);
  const node = h('article', { class: 'panel request', data: { approval: approval.id } },
    h('header', {}, icon('shield'), h('h2', { class: 'truncate' }, taskLink(attempt.task)),
      approval.deadline != null ? countdown(approval.deadline, 'The turn ends') : timeElement(approval.created_at)),
    h('div', { class: 'body fields' },
      h('p', {}, h('strong', {}, agent), ' requests permission to use ', h('strong', {}, tool), summary && [': ', h('code', { title: input.path ?? input.file_path }, summary)]),
      details && h('div', { class: 'details-body' }, details),
      h('div', { class: 'row' }, optionButtons(approval))));
  return { node };
}
