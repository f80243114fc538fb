// One item of the timeline as an element that follows its item.

import { fill, h } from '../dom.js';
import { markdown } from '../markdown.js';
import { brief, clock, count, firstLine, moment, money, progress, readable, span, statusTone, statusWord } from '../text.js';
import { pill, testBar } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';
import { patch, toolBody } from './tool.js';

function frame(kind, mark, at, ...body) {
  return h('li', { class: 'item', data: { kind } },
    h('span', { class: 'mark' }, icon(mark)), h('div', { class: 'what' }, body), h('time', { class: 'at', title: moment(at) }, clock(at)));
}

function text(one) {
  const body = h('div');
  const node = frame('text', 'text', one.at, body);
  let shown = null;
  return {
    node,
    update(now) {
      if (shown === now.text) return;
      shown = now.text;
      fill(body, markdown(now.text));
    },
  };
}

function thought(one) {
  const head = h('span', { class: 'cut' });
  const body = h('div', { class: 'inside' });
  const node = frame('thought', 'thought', one.at, h('details', {}, h('summary', {}, head), body));
  return {
    node,
    update(now) {
      head.textContent = '';
      fill(head, firstLine(now.text) || 'Thinking');
      fill(body, markdown(now.text));
    },
  };
}

function tool(one) {
  const name = h('b', {}, one.name);
  const about = h('span', { class: 'cut mono' }, brief(one.input));
  const state = h('span', { class: 'took num' });
  const body = h('div', { class: 'inside' });
  const details = h('details', {}, h('summary', {}, name, about, state, h('span', { class: 'turn' }, icon('chevron'))), body);
  const node = frame('tool', 'tool', one.at, details);
  let now = one;
  const draw = () => details.open && fill(body, toolBody(now));
  details.addEventListener('toggle', draw);
  return {
    node,
    update(next) {
      now = next;
      node.dataset.state = next.running ? 'running' : next.success === false ? 'bad' : 'good';
      fill(state, next.running ? pill('running', 'live') : [next.success === false && pill('failed', 'bad'), span(next.took)]);
      draw();
    },
  };
}

function correction(one) {
  const head = h('span');
  const state = h('span');
  const body = h('div');
  const node = frame('correction', 'retry', one.at, h('div', { class: 'line' }, head, state), body);
  return {
    node,
    update(now) {
      const words = { in_progress: ['under way', 'live'], success: ['passed', 'good'], failed: ['still red', 'bad'] }[now.status] ?? [now.status, 'none'];
      fill(head, h('b', {}, `Correction ${now.round} of ${now.rounds}`));
      fill(state, pill(...words));
      fill(body, now.problem && h('p', { class: 'small quiet' }, now.problem));
    },
  };
}

function tests(one) {
  const { status, passed, failed, errors, total, duration } = one.result;
  const tone = status === 'passed' ? 'good' : 'bad';
  const words = total ? `${passed} of ${total} passed${failed ? `, ${failed} failed` : ''}${errors ? `, ${errors} errors` : ''}` : '';
  return { node: frame('tests', 'flask', one.at, h('div', { class: 'line' }, h('b', {}, 'Tests'), pill(status, tone), h('span', { class: 'quiet small num' }, words, words && ' · ', span(duration * 1000))), total > 0 && testBar(one.result)) };
}

function end(one) {
  const used = one.usage && `${count(one.usage.input_tokens)} tokens in, ${count(one.usage.output_tokens)} out${one.usage.cost_usd != null ? `, ${money(one.usage.cost_usd)}` : ''}`;
  return { node: frame('end', 'check', one.at, one.text && markdown(one.text), h('p', { class: 'small quiet num' }, 'End of the turn', used && ` · ${used}`)) };
}

const MAKE = {
  text,
  thought,
  tool,
  correction,
  tests,
  end,
  status: (one) => ({ node: frame('status', one.status === 'completed' ? 'seal' : one.status === 'blocked' ? 'question' : 'anchor', one.at, h('div', { class: 'line' }, pill(statusWord(one.status), statusTone(one.status)), h('span', { class: 'quiet small' }, one.who))) }),
  attempt: (one) => ({ node: h('li', { class: 'attempt-mark' }, h('span', {}, `Attempt ${one.number}`)) }),
  activity: (one) => ({ node: frame('activity', 'chevron', one.at, h('p', { class: 'small' }, one.text)) }),
  plan: (one) => ({ node: frame('plan', 'list', one.at, h('p', { class: 'small' }, `Plan: ${progress(one.entries)}`)) }),
  permission: (one) => ({ node: frame('permission', 'shield', one.at, h('p', {}, 'Asks whether it may use ', h('b', {}, one.tool), ' ', h('code', {}, brief(one.input)))) }),
  fault: (one) => ({ node: frame('fault', 'warn', one.at, h('div', { class: 'line' }, h('b', {}, one.code)), h('p', {}, one.text)) }),
  custom: (one) => (typeof one.payload?.diff === 'string' ? { node: frame('custom', 'file', one.at, h('details', {}, h('summary', {}, h('span', { class: 'cut quiet small' }, 'The change so far')), h('div', { class: 'inside' }, patch(one.payload.diff)))) } : { node: frame('custom', 'file', one.at, h('details', {}, h('summary', {}, h('span', { class: 'cut quiet small' }, one.what)), h('pre', { class: 'code' }, readable(one.payload)))) }),
};

export function item(one) {
  const row = MAKE[one.kind](one);
  row.update?.(one);
  return row;
}
