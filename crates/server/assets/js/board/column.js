// A column of the board.

import { h, reconcile, setText } from '../dom.js';
import { state } from '../store.js';
import { isWaitingForPerson } from '../text.js';
import { icon } from '../widgets/icon.js';
import { card } from './card.js';
import { matchesFilter } from './filter.js';

const PAGE_SIZE = 40;
const waiting = (task) => isWaitingForPerson(task, state);

// `sections` splits a column. A task belongs to the first section that accepts it.
export const COLUMNS = [
  { id: 'pending', name: 'Pending', icon: 'clock', placeholder: 'No pending tasks.', has: (task) => task.status === 'pending' },
  { id: 'in_progress', name: 'Running', icon: 'anchor', placeholder: 'No running tasks.', has: (task) => task.status === 'in_progress' && !waiting(task) },
  { id: 'blocked', name: 'Needs input', icon: 'question', placeholder: 'No open questions.', has: waiting },
  {
    id: 'completed', name: 'Done', icon: 'seal', placeholder: 'No completed tasks yet.', has: (task) => task.status === 'completed',
    sections: [['To review', (task) => !task.landed && task.needs_review], ['Not landed', (task) => !task.landed], ['Landed', () => true]],
  },
  { id: 'failed', name: 'Stopped', icon: 'stop', placeholder: 'No failed or cancelled tasks.', has: (task) => task.status === 'failed' || task.status === 'cancelled' },
];

// Permission requests come first in their column.
const urgency = (task) => (task.status === 'in_progress' ? 0 : 1);

function order(spec) {
  if (spec.id === 'completed' || spec.id === 'failed') return (a, b) => b.updated_at - a.updated_at || b.id - a.id;
  return (a, b) => (spec.id === 'blocked' ? urgency(a) - urgency(b) : 0) || a.priority - b.priority || a.workflow_step - b.workflow_step || a.id - b.id;
}

function cardList(spec, title, updateAll) {
  const heading = title && h('h3', { class: 'group-title' });
  const cards = h('div', { class: 'cards' });
  const more = h('button', { class: 'button plain', type: 'button', hidden: true });
  let limit = PAGE_SIZE;
  more.addEventListener('click', () => { limit += PAGE_SIZE * 5; updateAll(); });
  const update = (tasks) => {
    if (heading) {
      heading.hidden = tasks.length === 0;
      setText(heading, `${title} · ${tasks.length}`);
    }
    more.hidden = tasks.length <= limit;
    setText(more, `Show ${tasks.length - limit} more`);
    reconcile(cards, tasks.slice(0, limit), (task) => task.id, card);
  };
  return { nodes: [heading, cards, more], update };
}

export function column(spec) {
  const number = h('span', { class: 'count num' });
  const placeholder = h('p', { class: 'placeholder' }, spec.placeholder);
  const id = `column-${spec.id}`;
  const update = () => {
    const tasks = [...state.tasks.values()].filter((task) => spec.has(task) && matchesFilter(task)).sort(order(spec));
    setText(number, tasks.length ? String(tasks.length) : '');
    node.dataset.empty = tasks.length === 0;
    placeholder.hidden = tasks.length > 0;
    let rest = tasks;
    for (const [list, accepts] of lists) {
      const own = rest.filter(accepts);
      rest = rest.filter((task) => !accepts(task));
      list.update(own);
    }
  };
  const lists = spec.sections
    ? spec.sections.map(([title, accepts]) => [cardList(spec, title, update), accepts])
    : [[cardList(spec, null, update), () => true]];
  const node = h('section', { class: 'column', 'aria-labelledby': id, data: { column: spec.id } },
    h('header', {}, icon(spec.icon), h('h2', { id }, spec.name), number), lists.map(([list]) => list.nodes), placeholder);
  return { id: spec.id, node, update };
}
