// The timeline, updated live: as readable items, or as the list of all events with their numbers.

import { fill, h } from '../dom.js';
import { formatTime, inputSummary, toText } from '../text.js';
import { emptyState, loading } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { timelineItem } from './items.js';
import { messageForm } from './message.js';

const PAGE_SIZE = 400;
let showAll = false;

function eventText(event) {
  switch (event.type) {
    case 'task_status': return event.status;
    case 'test_result': return `${event.status}: ${event.passed} passed, ${event.failed} failed, ${event.errors} errors`;
    case 'correction_attempt': return `${event.attempt_num} of ${event.max_attempts} ${event.status} ${event.error_summary ?? ''}`;
    case 'activity_update': return event.message;
    case 'agent_event': {
      const inner = event.envelope.event;
      return inner.text ?? inner.message ?? (inner.name ? `${inner.name} ${inputSummary(inner.input ?? inner.output)}` : toText(inner));
    }
    default: return '';
  }
}

function eventRow(event) {
  const kind = event.type === 'agent_event' ? event.envelope.event.type : event.type;
  const node = h('li', { data: { seq: event.seq } },
    h('span', { class: 'num muted' }, String(event.seq)), h('time', { class: 'muted' }, formatTime(event.at)), h('span', { class: 'kind' }, kind), h('span', { class: 'truncate' }, eventText(event).trim().replaceAll('\n', '⏎')));
  return { key: event.seq, node };
}

// A list that shows its newest entries, and older ones on request.
class Rows {
  // `log` can read events that are older than all entries.
  constructor(make, log) {
    this.make = make;
    this.log = log;
    this.rows = new Map();
    this.list = h('ol', { class: 'rows' });
    this.older = h('button', { class: 'button plain', type: 'button', hidden: true, on: { click: () => (this.hiddenItems.length ? this.showMore() : this.onEarlier()) } });
    this.hiddenItems = [];
  }

  render(items, count = PAGE_SIZE) {
    this.rows.clear();
    fill(this.list);
    this.hiddenItems = items.slice(0, Math.max(0, items.length - count));
    for (const entry of items.slice(-count)) this.upsert(entry);
    this.updateOlder();
  }

  upsert(entry) {
    const key = entry.key ?? entry.seq;
    const existing = this.rows.get(key);
    if (existing) {
      existing.update?.(entry);
    } else {
      const row = this.make(entry);
      this.rows.set(key, row);
      this.list.append(row.node);
    }
  }

  showMore() {
    const batch = this.hiddenItems.splice(-PAGE_SIZE);
    const nodes = batch.map((entry) => {
      const row = this.make(entry);
      this.rows.set(entry.key ?? entry.seq, row);
      return row.node;
    });
    this.list.prepend(...nodes);
    this.updateOlder();
  }

  updateOlder() {
    this.older.hidden = this.hiddenItems.length === 0 && !this.log.hasEarlier;
    this.older.textContent = this.hiddenItems.length ? `Show ${this.hiddenItems.length} earlier` : 'Show earlier events';
  }
}

export function timeline({ id, log, model, task }) {
  let rows = null;
  let follow = true;
  const container = h('div');
  const toggle = h('button', { class: 'button plain', type: 'button', 'aria-pressed': String(showAll) }, icon('list'), 'All events');
  const end = h('div', { class: 'end' });
  const message = messageForm(id);
  message.update(task());
  const node = h('div', { class: 'timeline' }, h('div', { class: 'timeline-bar' }, toggle), container, message.node, end);

  const placeholder = () => (!log.loaded ? loading() : emptyState('clock', task()?.status === 'pending' ? 'Waiting for a worker' : 'No events yet',
    h('p', {}, 'Messages and tool calls of the agent appear here live.')));

  // Reads older events, which renders all, and shows as many entries more.
  const readEarlier = async () => {
    const count = rows.rows.size + PAGE_SIZE;
    await log.readEarlier();
    rows.render(showAll ? log.events : model.items, count);
  };

  const render = () => {
    const items = showAll ? log.events : model.items;
    rows = new Rows(showAll ? eventRow : timelineItem, log);
    rows.onEarlier = () => readEarlier().catch(() => {});
    rows.list.dataset.showAll = showAll;
    rows.list.setAttribute('aria-label', showAll ? 'All events' : 'Timeline');
    fill(container, items.length ? [rows.older, rows.list] : placeholder());
    rows.render(items);
  };

  toggle.addEventListener('click', () => {
    showAll = !showAll;
    toggle.setAttribute('aria-pressed', String(showAll));
    render();
  });

  // Scrolls along with new entries only while the user is at the end of the page.
  const onScroll = () => { follow = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120; };
  window.addEventListener('scroll', onScroll, { passive: true });

  render();
  return {
    node,
    ready: render,
    refresh: () => message.update(task()),
    onEvents(events, items, reset) {
      if (reset || !rows.list.isConnected) {
        render();
        return;
      }
      const running = task()?.status === 'in_progress';
      for (const entry of showAll ? events : items) {
        if (!rows.hiddenItems.includes(entry)) rows.upsert(entry);
      }
      if (follow && running && window.scrollY > 0) window.scrollTo({ top: document.documentElement.scrollHeight });
    },
    leave: () => window.removeEventListener('scroll', onScroll),
  };
}
