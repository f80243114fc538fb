// One trace as a waterfall: each step is a bar from its start to its end.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { count, formatCost, formatDateTime, formatDuration, shortHash, tokens } from '../text.js';
import { facts, loadInto, notice } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

// Flattens the tree to rows in depth-first order.
function rows(node, depth = 0) {
  return [{ node, depth }, ...(node.children ?? []).flatMap((child) => rows(child, depth + 1))];
}

function usageText(usage) {
  if (!usage) return null;
  const cost = usage.cost_usd != null ? ` · ${formatCost(usage.cost_usd)}` : '';
  return `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out${cost}`;
}

function detail(node) {
  return h('div', { class: 'fields' },
    h('h2', {}, node.name),
    node.error && notice('bad', h('strong', {}, node.error.code), ' ', node.error.message),
    facts([
      ['Agent', node.agent], ['Started', formatDateTime(node.start)], ['Duration', formatDuration(node.duration_ms)],
      ['Exit code', node.exit_code], ['HTTP status', node.status], ['Tokens', usageText(node.usage)],
    ]),
    node.stderr && [h('h3', {}, 'Standard error'), h('pre', { class: 'code', tabindex: '0' }, node.stderr)]);
}

function stepRow({ node, depth }, root, select) {
  const totalMs = Math.max(1, root.duration_ms, ...(root.children ?? []).map((child) => child.start + child.duration_ms - root.start));
  const x = (100 * Math.max(0, node.start - root.start)) / totalMs;
  const w = Math.max(0.4, (100 * node.duration_ms) / totalMs);
  return h('button', {
    class: 'step', type: 'button', 'aria-pressed': 'false', vars: { depth: String(depth) },
    on: { click: (event) => select(node, event.currentTarget) },
  },
  h('span', { class: 'name truncate' }, node.name, node.agent && h('span', { class: 'muted' }, ` ${node.agent}`)),
  h('span', { class: 'step-track' }, h('i', { class: node.error ? 'bad' : node.agent && depth > 0 ? 'agent' : '', vars: { x: `${Math.min(x, 99.4)}%`, w: `${w}%` } })),
  h('span', { class: 'num' }, formatDuration(node.duration_ms)));
}

function waterfall(root) {
  const side = h('aside', { class: 'panel', 'aria-live': 'polite' });
  const select = (node, button) => {
    for (const other of list.querySelectorAll('.step')) other.setAttribute('aria-pressed', String(other === button));
    fill(side, h('div', { class: 'body' }, detail(node)));
  };
  const all = rows(root);
  const list = h('div', { class: 'panel waterfall' }, all.map((row) => stepRow(row, root, select)));
  const initial = all.find(({ node, depth }) => node.error && depth > 0) ?? all[0];
  select(initial.node, list.children[all.indexOf(initial)]);
  return h('div', { class: 'waterfall-page' }, list, side);
}

function total(node) {
  if (node.usage) return tokens(node.usage);
  return (node.children ?? []).reduce((sum, child) => sum + total(child), 0);
}

export function trace({ id }) {
  const container = h('div');
  const summary = h('span', { class: 'muted small num' });
  loadInto(container, () => api.trace(id), (root) => {
    const usedTokens = total(root);
    summary.textContent = [formatDuration(root.duration_ms), usedTokens && `${count(usedTokens)} tokens`, formatDateTime(root.start)].filter(Boolean).join(' · ');
    return waterfall(root);
  });
  const back = h('a', { class: 'button plain square', href: '#/traces', 'aria-label': 'All traces' }, icon('back'));
  // A hexadecimal id is shortened; the address and the tooltip have the full id.
  const name = `Trace ${/^[0-9a-f]{32}$/.test(id) ? shortHash(id) : id}`;
  return { title: name, node: h('div', {}, h('div', { class: 'head' }, back, h('h1', { class: 'truncate', title: id }, name), summary), container) };
}
