// The timeline: what happens, as it happens. Told as a story, or as every event with its number.

import { fill, h } from '../dom.js';
import { readable, brief, clock } from '../text.js';
import { empty, loading } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';
import { item } from './items.js';

const SHOWN = 400;
let every = false;

function words(event) {
  switch (event.type) {
    case 'task_status': return event.status;
    case 'test_result': return `${event.status}: ${event.passed} passed, ${event.failed} failed, ${event.errors} errors`;
    case 'correction_attempt': return `${event.attempt_num} of ${event.max_attempts} ${event.status} ${event.error_summary ?? ''}`;
    case 'activity_update': return event.message;
    case 'agent_event': {
      const inner = event.envelope.event;
      return inner.text ?? inner.message ?? (inner.name ? `${inner.name} ${brief(inner.input ?? inner.output)}` : readable(inner));
    }
    default: return '';
  }
}

function eventRow(event) {
  const kind = event.type === 'agent_event' ? event.envelope.event.type : event.type;
  const node = h('li', { data: { seq: event.seq } },
    h('span', { class: 'num quiet' }, String(event.seq)), h('time', { class: 'quiet' }, clock(event.at)), h('span', { class: 'kind' }, kind), h('span', { class: 'cut' }, words(event).trim().replaceAll('\n', '⏎')));
  return { key: event.seq, node };
}

// A list that shows its newest part and gives the older one when asked.
class Rows {
  constructor(make) {
    this.make = make;
    this.rows = new Map();
    this.list = h('ol', { class: 'rows' });
    this.older = h('button', { class: 'button plain', type: 'button', hidden: true, on: { click: () => this.more() } });
    this.hiddenItems = [];
  }

  begin(items) {
    this.rows.clear();
    fill(this.list);
    this.hiddenItems = items.slice(0, Math.max(0, items.length - SHOWN));
    for (const one of items.slice(-SHOWN)) this.put(one);
    this.count();
  }

  put(one) {
    const key = one.key ?? one.seq;
    const known = this.rows.get(key);
    if (known) {
      known.update?.(one);
    } else {
      const row = this.make(one);
      this.rows.set(key, row);
      this.list.append(row.node);
    }
  }

  more() {
    const batch = this.hiddenItems.splice(-SHOWN);
    const nodes = batch.map((one) => {
      const row = this.make(one);
      this.rows.set(one.key ?? one.seq, row);
      return row.node;
    });
    this.list.prepend(...nodes);
    this.count();
  }

  count() {
    this.older.hidden = this.hiddenItems.length === 0;
    this.older.textContent = `${this.hiddenItems.length} earlier`;
  }
}

export function timeline({ log, story, task }) {
  let rows = null;
  let follow = true;
  const place = h('div');
  const toggle = h('button', { class: 'button plain', type: 'button', 'aria-pressed': String(every) }, icon('list'), 'Every event');
  const end = h('div', { class: 'end' });
  const node = h('div', { class: 'timeline' }, h('div', { class: 'timeline-bar' }, toggle), place, end);

  const blank = () => (!log.loaded ? loading() : empty('clock', task()?.status === 'pending' ? 'Waiting for a worker' : 'Nothing happened yet',
    h('p', {}, 'What the agent says and does appears here while it happens.')));

  const begin = () => {
    const items = every ? log.events : story.items;
    rows = new Rows(every ? eventRow : item);
    rows.list.dataset.every = every;
    rows.list.setAttribute('aria-label', every ? 'Every event' : 'What happened');
    fill(place, items.length ? [rows.older, rows.list] : blank());
    rows.begin(items);
  };

  toggle.addEventListener('click', () => {
    every = !every;
    toggle.setAttribute('aria-pressed', String(every));
    begin();
  });

  // Goes along with what comes while the reader is at the end, and stays where the reader is otherwise.
  const onScroll = () => { follow = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 120; };
  window.addEventListener('scroll', onScroll, { passive: true });

  begin();
  return {
    node,
    ready: begin,
    heard(events, items, anew) {
      if (anew || !rows.list.isConnected) {
        begin();
        return;
      }
      const running = task()?.status === 'in_progress';
      for (const one of every ? events : items) {
        if (!rows.hiddenItems.includes(one)) rows.put(one);
      }
      if (follow && running && window.scrollY > 0) window.scrollTo({ top: document.documentElement.scrollHeight });
    },
    leave: () => window.removeEventListener('scroll', onScroll),
  };
}
