// The fields of a task in dialogs.

import { api } from '../api.js';
import { h } from '../dom.js';

export const PRIORITIES = [['0', '0 · highest'], ['1', '1 · high'], ['2', '2 · normal'], ['3', '3 · low'], ['4', '4 · lowest']];
export const KINDS = [['backend', 'Backend'], ['frontend', 'Frontend'], ['test', 'Tests']];

export function field(label, control, hint) {
  const id = `field-${label.toLowerCase().replace(/\W+/g, '-')}`;
  control.id = id;
  return h('div', { class: 'field' }, h('label', { for: id }, label), control, hint && h('span', { class: 'hint' }, hint));
}

export function select(name, options, selected) {
  return h('select', { class: 'input', name }, options.map(([value, label]) => h('option', { value, selected: value === selected }, label)));
}

// The agents that can be used. The current one is offered immediately, the others when the server has checked them.
export function agentSelect(current) {
  const node = select('agent', [['', 'Default'], ...(current ? [[current, current]] : [])], current ?? '');
  api.agents().then((agents) => {
    for (const agent of agents.filter((entry) => entry.health === 'ok' && entry.name !== current)) {
      node.append(h('option', { value: agent.name }, agent.name));
    }
  }).catch(() => {});
  return node;
}

// Parses "12, #13" to numbers.
export const parseIds = (text) => (text ?? '').split(/[\s,#]+/).filter(Boolean).map(Number);
