// Renders the items of the timeline.

import { fill, h } from '../dom.js';
import { markdown } from '../markdown.js';
import { count, firstLine, formatCost, formatDateTime, formatDuration, formatTime, inputSummary, progress, statusLabel, statusTone, testCounts, toText } from '../text.js';
import { pill, testBar } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { patch, toolBody } from './tool.js';

function row(kind, iconName, at, ...body) {
  return h('li', { class: 'item', data: { kind } },
    h('span', { class: 'mark' }, icon(iconName)), h('div', { class: 'content' }, body), h('time', { class: 'time', title: formatDateTime(at) }, formatTime(at)));
}

function text(item) {
  const body = h('div');
  const node = row('text', 'text', item.at, body);
  let rendered = null;
  return {
    node,
    update(current) {
      if (rendered === current.text) return;
      rendered = current.text;
      fill(body, markdown(current.text));
    },
  };
}

function thought(item) {
  const head = h('span', { class: 'truncate' });
  const body = h('div', { class: 'details-body' });
  const node = row('thought', 'thought', item.at, h('details', {}, h('summary', {}, head), body));
  return {
    node,
    update(current) {
      head.textContent = '';
      fill(head, firstLine(current.text) || 'Thinking');
      fill(body, markdown(current.text));
    },
  };
}

function tool(item) {
  const name = h('b', {}, item.name);
  const summary = h('span', { class: 'truncate mono' }, inputSummary(item.input));
  const state = h('span', { class: 'duration num' });
  const body = h('div', { class: 'details-body' });
  const details = h('details', {}, h('summary', {}, name, summary, state, h('span', { class: 'chevron' }, icon('chevron'))), body);
  const node = row('tool', 'tool', item.at, details);
  let current = item;
  const render = () => details.open && fill(body, toolBody(current));
  details.addEventListener('toggle', render);
  return {
    node,
    update(next) {
      current = next;
      node.dataset.state = next.running ? 'running' : next.stopped ? 'stopped' : next.success === false ? 'bad' : 'good';
      fill(state, next.running ? pill('running', 'live') : next.stopped ? pill('stopped', 'none') : [next.success === false && pill('failed', 'bad'), formatDuration(next.durationMs)]);
      render();
    },
  };
}

function correction(item) {
  const head = h('span');
  const state = h('span');
  const body = h('div');
  const node = row('correction', 'retry', item.at, h('div', { class: 'line' }, head, state), body);
  return {
    node,
    update(current) {
      const pillArgs = { in_progress: ['running', 'live'], success: ['passed', 'good'], failed: ['still failing', 'bad'] }[current.status] ?? [current.status, 'none'];
      fill(head, h('b', {}, `Correction ${current.round} of ${current.rounds}`));
      fill(state, pill(...pillArgs));
      fill(body, current.problem && h('p', { class: 'small muted' }, current.problem));
    },
  };
}

function tests(item) {
  const { status, passed, total, duration } = item.result;
  const tone = status === 'passed' ? 'good' : 'bad';
  const summary = total ? `${passed} of ${total} passed` : '';
  return { node: row('tests', 'flask', item.at, h('div', { class: 'line' }, h('b', {}, 'Tests'), pill(status, tone), h('span', { class: 'muted small num', title: testCounts(item.result) }, summary, summary && ' · ', formatDuration(duration * 1000))), total > 0 && testBar(item.result)) };
}

function end(item) {
  const used = item.usage && `${count(item.usage.input_tokens)} tokens in, ${count(item.usage.output_tokens)} out${item.usage.cost_usd != null ? `, ${formatCost(item.usage.cost_usd)}` : ''}`;
  return { node: row('end', 'check', item.at, item.text && markdown(item.text), h('p', { class: 'small muted num' }, 'Turn finished', used && ` · ${used}`)) };
}

const MAKE = {
  text,
  thought,
  tool,
  correction,
  tests,
  end,
  status: (item) => ({ node: row('status', item.status === 'completed' ? 'seal' : item.status === 'blocked' ? 'question' : 'anchor', item.at, h('div', { class: 'line' }, pill(statusLabel(item.status), statusTone(item.status)), h('span', { class: 'muted small' }, item.agent))) }),
  attempt: (item) => {
    const label = h('span', {});
    const node = h('li', { class: 'attempt-mark' }, label);
    const update = (current) => {
      fill(label, `Attempt ${current.number}`);
      node.hidden = current.number < 2;
    };
    return { node, update };
  },
  activity: (item) => ({ node: row('activity', 'chevron', item.at, h('p', { class: 'small' }, item.text)) }),
  plan: (item) => ({ node: row('plan', 'list', item.at, h('p', { class: 'small' }, `Plan: ${progress(item.entries)}`)) }),
  permission: (item) => ({ node: row('permission', 'shield', item.at, h('p', {}, 'Requests permission to use ', h('b', {}, item.tool), ' ', h('code', {}, inputSummary(item.input)))) }),
  error: (item) => ({ node: row('error', 'warn', item.at, h('div', { class: 'line' }, h('b', {}, item.code)), h('p', {}, item.text)) }),
  custom: (item) => (typeof item.payload?.diff === 'string' ? { node: row('custom', 'file', item.at, h('details', {}, h('summary', {}, h('span', { class: 'truncate muted small' }, 'Changes so far')), h('div', { class: 'details-body' }, patch(item.payload.diff)))) } : { node: row('custom', 'file', item.at, h('details', {}, h('summary', {}, h('span', { class: 'truncate muted small' }, item.type)), h('pre', { class: 'code' }, toText(item.payload)))) }),
};

export function timelineItem(item) {
  const view = MAKE[item.kind](item);
  view.update?.(item);
  return view;
}
