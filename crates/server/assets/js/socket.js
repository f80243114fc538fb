// The live feed: one WebSocket for everything, resumed by number. Whoever listens gets each event once, in order.

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 8000;

export class Feed {
  // `fetchAfter(n)` gives the stored events after a number. `hear(event)` gets every event once.
  // `tell(state, words)` gets 'live', 'down' or 'stale'. `greet(fresh)` is called after each hello; `fresh` when the
  // numbers begin anew, so that everything known must be read again. `last` is the number to go on from.
  constructor({ fetchAfter, hear, tell, greet, last = null, firstPause = FIRST_PAUSE }) {
    Object.assign(this, { fetchAfter, hear, tell, greet, last, firstPause });
    this.waiting = [];
    this.filling = false;
    this.pause = firstPause;
    this.timer = null;
    this.socket = null;
    this.stopped = true;
  }

  start() {
    this.stopped = false;
    this.open();
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    this.drop();
  }

  // Tries at once instead of waiting for the next time.
  now() {
    if (this.stopped || this.socket?.readyState === WebSocket.OPEN) return;
    this.pause = this.firstPause;
    this.open();
  }

  // Leaves a connection that is not to be trusted any more, and makes another.
  again() {
    if (this.stopped) return;
    this.drop();
    this.lost();
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    socket?.close();
  }

  open() {
    clearTimeout(this.timer);
    this.drop();
    const where = new URL('/api/v1/ws', location.href);
    where.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    where.hash = '';
    if (this.last != null) where.searchParams.set('after', this.last);
    const socket = new WebSocket(where);
    this.socket = socket;
    socket.onmessage = (message) => this.read(message.data);
    socket.onclose = () => this.lost();
  }

  lost() {
    this.socket = null;
    this.waiting = [];
    if (this.stopped) return;
    this.tell('down');
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  read(data) {
    const message = JSON.parse(data);
    switch (message.type) {
      case 'hello': return this.hello(message.last);
      case 'lagged': return this.catchUp();
      case 'stale': return this.tell('stale', message.reason);
      case 'fresh': return this.tell('live');
      default: return message.seq ? this.take(message) : undefined;
    }
  }

  hello(last) {
    // A lower number than ours is another store: what we know is not true there.
    const fresh = this.last == null || last < this.last;
    if (fresh) this.last = last;
    this.pause = this.firstPause;
    this.tell('live');
    this.greet(fresh);
  }

  take(event) {
    if (event.seq <= this.last) return;
    if (this.filling || event.seq > this.last + 1) {
      this.waiting.push(event);
      this.catchUp();
      return;
    }
    this.last = event.seq;
    this.hear(event);
  }

  // Reads what is missing by its numbers, then goes on with what came meanwhile.
  async catchUp() {
    if (this.filling) return;
    this.filling = true;
    const socket = this.socket;
    try {
      for (;;) {
        const { events } = await this.fetchAfter(this.last);
        for (const event of events) {
          if (event.seq <= this.last) continue;
          this.last = event.seq;
          this.hear(event);
        }
        if (events.length === 0) break;
      }
    } catch {
      // Without the missing part the rest is not to be shown: begin again from the last number.
      this.filling = false;
      if (this.socket === socket && socket) this.again();
      return;
    }
    this.filling = false;
    const waiting = this.waiting.sort((a, b) => a.seq - b.seq);
    this.waiting = [];
    for (const event of waiting) {
      if (event.seq <= this.last) continue;
      this.last = event.seq;
      this.hear(event);
    }
  }
}
