// The events of one task: those that are stored, and those that come, each once and in order.

import { api } from './api.js';

export class TaskLog {
  // `heard(events)` gets new events, in order. An event that comes late makes `heard` begin anew with all of them.
  constructor(task, heard) {
    this.task = task;
    this.heard = heard;
    this.events = [];
    this.seen = new Set();
    this.read = 0;
    this.reading = null;
    this.early = [];
    this.loaded = false;
  }

  // An event from the feed. Until the stored ones are there it waits.
  take(event) {
    if (event.task_id !== this.task) return;
    if (!this.loaded || this.reading) {
      this.early.push(event);
    } else {
      this.add([event]);
      // The feed has no gaps, so all before this one is known.
      this.read = event.seq;
    }
  }

  // Reads what is stored after the last one read, to the end.
  catchUp() {
    this.reading ??= this.pull().finally(() => {
      this.reading = null;
      const early = this.early.sort((a, b) => a.seq - b.seq);
      this.early = [];
      this.add(early);
    });
    return this.reading;
  }

  async pull() {
    for (;;) {
      const { events } = await api.taskEvents(this.task, this.read);
      if (events.length === 0) break;
      this.add(events);
      this.read = events.at(-1).seq;
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
      this.heard(this.events, true);
    } else {
      this.heard(fresh, false);
    }
  }
}
