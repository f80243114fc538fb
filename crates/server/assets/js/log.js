// The events of one task, stored and live: each once and in order. The newest are read first, older ones on request.

import { EVENT_PAGE, api } from './api.js';

export class TaskLog {
  // `onEvents(events, reset)` gets new events in order. If an event arrives late, `onEvents` gets all events again
  // and `reset` is true.
  constructor(task, onEvents) {
    this.task = task;
    this.onEvents = onEvents;
    this.events = [];
    this.seen = new Set();
    this.lastRead = 0;
    this.catchingUp = null;
    this.buffered = [];
    this.loaded = false;
    // The number of the oldest event that was read, if there may be older ones.
    this.first = Number.MAX_SAFE_INTEGER;
  }

  // Adds an event from the feed. It is buffered until the stored events are loaded.
  receive(event) {
    if (event.task_id !== this.task) return;
    if (!this.loaded || this.catchingUp) {
      this.buffered.push(event);
    } else {
      this.add([event]);
      // The feed has no gaps, so every earlier event is known.
      this.lastRead = event.seq;
    }
  }

  get hasEarlier() {
    return this.first !== null;
  }

  // Reads the stored events before the first one read.
  async readEarlier() {
    const { events } = await api.taskEvents(this.task, { before: this.first });
    this.first = events.length < EVENT_PAGE ? null : events[0].seq;
    this.add(events);
    return events;
  }

  // Reads the newest stored events at first, and then all after the last one read.
  catchUp() {
    this.catchingUp ??= this.fetchStored().finally(() => {
      this.catchingUp = null;
      const buffered = this.buffered.sort((a, b) => a.seq - b.seq);
      this.buffered = [];
      this.add(buffered);
    });
    return this.catchingUp;
  }

  async fetchStored() {
    if (!this.loaded) {
      const newest = await this.readEarlier();
      this.lastRead = newest.at(-1)?.seq ?? 0;
    }
    for (;;) {
      const { events } = await api.taskEvents(this.task, { after: this.lastRead });
      if (events.length === 0) break;
      this.add(events);
      this.lastRead = events.at(-1).seq;
    }
    this.loaded = true;
  }

  add(events) {
    const fresh = events.filter((event) => !this.seen.has(event.seq));
    if (fresh.length === 0) return;
    for (const event of fresh) this.seen.add(event.seq);
    const late = this.events.length > 0 && fresh[0].seq < this.events.at(-1).seq;
    this.events.push(...fresh);
    if (late) {
      this.events.sort((a, b) => a.seq - b.seq);
      this.onEvents(this.events, true);
    } else {
      this.onEvents(fresh, false);
    }
  }
}
