// Who can do the work, and how each of them is.

import { api } from '../api.js';
import { h } from '../dom.js';
import { markdown } from '../markdown.js';
import { empty, facts, loaded, pill } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

function state(agent) {
  if (agent.health === 'ok') return pill('ready', 'good');
  return pill('not ready', 'bad');
}

function agentCard(agent) {
  const well = agent.health === 'ok';
  return h('article', { class: 'panel agent', data: { health: agent.health } },
    h('header', {}, h('h2', { class: 'cut' }, agent.name), agent.default && h('span', { class: 'chip' }, 'default'), state(agent)),
    h('div', { class: 'body fields' },
      facts([['Backend', agent.backend], ['Reached by', agent.transport], ['Version', agent.version]]),
      !well && agent.detail && h('div', { class: 'small why' }, markdown(agent.detail)),
      agent.capabilities?.length > 0 && h('ul', { class: 'chips', 'aria-label': 'It can' }, agent.capabilities.map((name) => h('li', { class: 'chip' }, name)))));
}

function show(agents) {
  if (agents.length === 0) {
    return empty('agents', 'No agent is known', h('p', {}, h('code', {}, 'windlass init'), ' writes a configuration for the agents that it finds on this machine; ', h('code', {}, 'windlass doctor'), ' says what is missing.'));
  }
  const ready = agents.filter((agent) => agent.health === 'ok');
  const rest = agents.filter((agent) => agent.health !== 'ok');
  const wanted = rest.filter((agent) => agent.configured);
  const possible = rest.filter((agent) => !agent.configured);
  return [
    h('div', { class: 'agents' }, wanted.map(agentCard), ready.map(agentCard)),
    possible.length > 0 && h('h2', { class: 'section' }, 'Could be set up'),
    possible.length > 0 && h('ul', { class: 'panel possible' }, possible.map((agent) => h('li', {}, h('b', {}, agent.name), markdown(agent.detail ?? '')))),
  ];
}

export function agents() {
  const place = h('div');
  const read = () => loaded(place, api.agents, (rows) => h('div', {}, show(rows)));
  const again = h('button', { class: 'button', type: 'button', on: { click: read } }, icon('retry'), 'Look again');
  read();
  return { title: 'Agents', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Agents'), again), place) };
}
