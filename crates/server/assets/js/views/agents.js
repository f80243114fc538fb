// The agents of the server's machine, with their health and capabilities, and the workers of all machines.

import { api } from '../api.js';
import { h } from '../dom.js';
import { markdown } from '../markdown.js';
import { emptyState, facts, loadInto, pill } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { workerTable } from './worker-table.js';

function healthPill(agent) {
  if (agent.health === 'ok') return pill('ready', 'good');
  return pill('not ready', 'bad');
}

function agentCard(agent) {
  const healthy = agent.health === 'ok';
  return h('article', { class: 'panel agent', data: { health: agent.health } },
    h('header', {}, h('h2', { class: 'truncate' }, agent.name), agent.default && h('span', { class: 'chip' }, 'default'), healthPill(agent)),
    h('div', { class: 'body fields' },
      facts([['Backend', agent.backend], ['Transport', agent.transport], ['Version', agent.version]]),
      !healthy && agent.detail && h('div', { class: 'small detail' }, markdown(agent.detail)),
      agent.capabilities?.length > 0 && h('ul', { class: 'chips', 'aria-label': 'Capabilities' }, agent.capabilities.map((name) => h('li', { class: 'chip' }, name)))));
}

function show(agents) {
  if (agents.length === 0) {
    return emptyState('agents', 'No agents found', h('p', {}, h('code', {}, 'windlass init'), ' writes a configuration for the agents installed on this machine; ', h('code', {}, 'windlass doctor'), ' reports what is missing.'));
  }
  const ready = agents.filter((agent) => agent.health === 'ok');
  const notReady = agents.filter((agent) => agent.health !== 'ok');
  const configured = notReady.filter((agent) => agent.configured);
  const unconfigured = notReady.filter((agent) => !agent.configured);
  return [
    h('div', { class: 'agents' }, configured.map(agentCard), ready.map(agentCard)),
    unconfigured.length > 0 && h('h2', { class: 'section' }, 'Not configured'),
    unconfigured.length > 0 && h('ul', { class: 'panel unconfigured' }, unconfigured.map((agent) => h('li', {}, h('b', {}, agent.name), markdown(agent.detail ?? '')))),
  ];
}

export function agents() {
  const container = h('div');
  const workers = h('div');
  const refreshWorkers = () => loadInto(workers, api.registeredWorkers, (rows) => workerTable(rows, refreshWorkers));
  const refresh = () => {
    loadInto(container, api.agents, (rows) => h('div', {}, show(rows)));
    refreshWorkers();
  };
  const refreshButton = h('button', { class: 'button', type: 'button', on: { click: refresh } }, icon('retry'), 'Refresh');
  refresh();
  return { title: 'Agents', node: h('div', {}, h('div', { class: 'head' }, h('h1', {}, 'Agents'), refreshButton), h('h2', { class: 'section' }, 'Workers'), workers, h('h2', { class: 'section' }, 'Agents of this server'), container) };
}
