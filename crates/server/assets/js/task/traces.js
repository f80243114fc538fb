// The traces of a task's attempts.

import { api } from '../api.js';
import { h } from '../dom.js';
import { traceList } from '../views/traces.js';
import { emptyState, loadInto } from '../widgets/common.js';

export function taskTraces({ id }) {
  const node = h('div');
  const refresh = () => loadInto(node, () => api.taskTraces(id), (rows) => (rows.length
    ? traceList(rows)
    : emptyState('traces', 'No traces yet', h('p', {}, 'A trace is written when an attempt ends.'))));
  refresh();
  return { node, refresh };
}
