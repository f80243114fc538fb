// The dependency graph of a goal: tasks as boxes with their status as text, dependencies as lines.

import { h, svg } from '../dom.js';
import { state } from '../store.js';
import { agentName } from '../text.js';
import { pill, statusPill } from '../widgets/common.js';
import { linksTo, place } from './layout.js';

const WIDTH = 216;
const HEIGHT = 92;
const GAP_X = 52;
const GAP_Y = 18;

function box({ task }, x, y) {
  return h('a', { class: 'graph-node', href: `#/tasks/${task.id}`, title: task.title, data: { status: task.status, landed: Boolean(task.landed), id: task.id }, vars: { x: `${x}px`, y: `${y}px` } },
    h('span', { class: 'graph-title' }, task.title),
    h('span', { class: 'graph-meta' }, h('span', { class: 'num' }, `#${task.id}`), task.landed ? pill('Landed', 'good') : statusPill(task), h('span', { class: 'truncate' }, agentName(task, state.defaultAgent))));
}

export function graph(tasks) {
  const { nodes, columns, rows } = place(tasks);
  const heights = new Array(columns).fill(0);
  for (const node of nodes) heights[node.layer] += 1;
  const width = columns * WIDTH + (columns - 1) * GAP_X;
  const height = rows * HEIGHT + (rows - 1) * GAP_Y;
  const position = new Map(nodes.map((node) => {
    // Layers with fewer tasks are centered.
    const offset = ((rows - heights[node.layer]) * (HEIGHT + GAP_Y)) / 2;
    return [node.task.id, { x: node.layer * (WIDTH + GAP_X), y: node.row * (HEIGHT + GAP_Y) + offset }];
  }));
  const lines = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true', class: 'graph-lines' });
  for (const { task } of nodes) {
    const to = position.get(task.id);
    for (const id of linksTo(task, tasks)) {
      const from = position.get(id);
      if (!from) continue;
      const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
      const bend = Math.max(GAP_X / 2, (x2 - x1) / 2);
      const done = state.tasks.get(id)?.status === 'completed';
      lines.append(svg('path', { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 6} ${y2}`, class: done ? 'done' : 'open' }),
        svg('path', { d: `M${x2 - 7} ${y2 - 4}L${x2 - 1} ${y2}L${x2 - 7} ${y2 + 4}`, class: done ? 'done' : 'open' }));
    }
  }
  const boxes = nodes.map((node) => box(node, position.get(node.task.id).x, position.get(node.task.id).y));
  return h('div', { class: 'graph-scroll', tabindex: '0', role: 'region', 'aria-label': 'Dependency graph' },
    h('div', { class: 'graph', vars: { width: `${width}px`, height: `${height}px` } }, lines, boxes));
}
