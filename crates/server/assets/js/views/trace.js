// One trace as a waterfall: each step a bar, from when it began to when it ended.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { count, moment, money, short, span, tokens } from '../text.js';
import { facts, loaded, notice } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

// The tree as rows, in the order in which it is read.
function rows(node, depth = 0) {
  return [{ node, depth }, ...(node.children ?? []).flatMap((child) => rows(child, depth + 1))];
}

function usageWords(usage) {
  if (!usage) return null;
  const cost = usage.cost_usd != null ? ` · ${money(usage.cost_usd)}` : '';
  return `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out${cost}`;
}

function detail(node) {
  return h('div', { class: 'fields' },
    h('h2', {}, node.name),
    node.error && notice('bad', h('strong', {}, node.error.code), ' ', node.error.message),
    facts([
      ['Agent', node.agent], ['Began', moment(node.start)], ['Took', span(node.duration_ms)],
      ['Exit code', node.exit_code], ['HTTP status', node.status], ['Tokens', usageWords(node.usage)],
    ]),
    node.stderr && [h('h3', {}, 'Standard error'), h('pre', { class: 'code', tabindex: '0' }, node.stderr)]);
}

function step({ node, depth }, root, choose) {
  const whole = Math.max(1, root.duration_ms, ...(root.children ?? []).map((child) => child.start + child.duration_ms - root.start));
  const x = (100 * Math.max(0, node.start - root.start)) / whole;
  const w = Math.max(0.4, (100 * node.duration_ms) / whole);
  return h('button', {
    class: 'step', type: 'button', 'aria-pressed': 'false', vars: { depth: String(depth) },
    on: { click: (event) => choose(node, event.currentTarget) },
  },
  h('span', { class: 'name cut' }, node.name, node.agent && h('span', { class: 'quiet' }, ` ${node.agent}`)),
  h('span', { class: 'lane' }, h('i', { class: node.error ? 'bad' : node.agent && depth > 0 ? 'agent' : '', vars: { x: `${Math.min(x, 99.4)}%`, w: `${w}%` } })),
  h('span', { class: 'num' }, span(node.duration_ms)));
}

function waterfall(root) {
  const side = h('aside', { class: 'panel', 'aria-live': 'polite' });
  const choose = (node, button) => {
    for (const other of list.querySelectorAll('.step')) other.setAttribute('aria-pressed', String(other === button));
    fill(side, h('div', { class: 'body' }, detail(node)));
  };
  const all = rows(root);
  const list = h('div', { class: 'panel waterfall' }, all.map((row) => step(row, root, choose)));
  const worst = all.find(({ node, depth }) => node.error && depth > 0) ?? all[0];
  choose(worst.node, list.children[all.indexOf(worst)]);
  return h('div', { class: 'waterfall-page' }, list, side);
}

function total(node) {
  if (node.usage) return tokens(node.usage);
  return (node.children ?? []).reduce((sum, child) => sum + total(child), 0);
}

export function trace({ id }) {
  const place = h('div');
  const words = h('span', { class: 'quiet small num' });
  loaded(place, () => api.trace(id), (root) => {
    const spent = total(root);
    words.textContent = [span(root.duration_ms), spent && `${count(spent)} tokens`, moment(root.start)].filter(Boolean).join(' · ');
    return waterfall(root);
  });
  const back = h('a', { class: 'button plain square', href: '#/traces', 'aria-label': 'All traces' }, icon('back'));
  // What nobody can read is cut; the address and the tooltip have all of it.
  const name = `Trace ${/^[0-9a-f]{32}$/.test(id) ? short(id) : id}`;
  return { title: name, node: h('div', {}, h('div', { class: 'head' }, back, h('h1', { class: 'cut', title: id }, name), words), place) };
}
