// The events of one task, stored and live: each once and in order.

import { api } from './api.js';

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

  // Reads all stored events after the last one read.
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
    for (;;) {
      const { events } = await api.taskEvents(this.task, this.lastRead);
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
