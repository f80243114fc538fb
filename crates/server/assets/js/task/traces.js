// The traces of a task's attempts.

import { api } from '../api.js';
import { h } from '../dom.js';
import { traceList } from '../views/traces.js';
import { empty, loaded } from '../widgets/bits.js';

export function taskTraces({ id }) {
  const node = h('div');
  const read = () => loaded(node, () => api.taskTraces(id), (rows) => (rows.length
    ? traceList(rows)
    : empty('traces', 'No trace yet', h('p', {}, 'It is written when an attempt ends.'))));
  read();
  return { node, changed: read };
}
