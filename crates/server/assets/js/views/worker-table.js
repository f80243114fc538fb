// The registered workers of all machines, with their load.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h } from '../dom.js';
import { pill } from '../widgets/common.js';

const STATES = { active: ['active', 'good'], draining: ['draining', 'warn'], lost: ['lost', 'bad'] };

// The name of a worker begins with its machine; the load is a bar.
function row(worker, refresh) {
  const drain = async () => { await api.drainWorker(worker.id); refresh(); };
  const button = () => needsScope('admin', h('button', { class: 'button', type: 'button', title: 'It finishes its tasks and exits', on: { click: drain } }, 'Drain'));
  return h('tr', { data: { worker: worker.name } },
    h('th', { scope: 'row' }, h('span', { class: 'truncate', title: `version ${worker.version}; agents: ${worker.agents.join(', ')}` }, worker.name), h('span', { class: 'track' }, h('i', { vars: { w: `${(100 * worker.running) / Math.max(1, worker.lanes)}%` } }))),
    h('td', { class: 'num end' }, `${worker.running} of ${worker.lanes}`),
    h('td', {}, worker.labels.join(' ')),
    h('td', {}, pill(...(STATES[worker.state] ?? [worker.state, 'none']))),
    h('td', { class: 'num end' }, `${worker.seen_seconds_ago} s ago`),
    h('td', {}, worker.state === 'active' && button()));
}

export function workerTable(workers, refresh) {
  if (workers.length === 0) return h('p', { class: 'muted' }, 'No worker is running: ', h('code', {}, 'windlass worker'), ' starts one, on any machine that shares the store.');
  const table = h('table', { class: 'panel bars workers' },
    h('thead', {}, h('tr', {}, ['Worker', 'Tasks', 'Labels', 'State', 'Seen', ''].map((heading) => h('th', { scope: 'col' }, heading)))),
    h('tbody', {}, workers.map((worker) => row(worker, refresh))));
  return h('div', { class: 'wide-table', tabindex: '0', role: 'region', 'aria-label': 'Workers' }, table);
}
