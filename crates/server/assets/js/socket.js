// The live feed: one WebSocket for all events, resumed by sequence number. Each event is delivered once, in order.

const INITIAL_BACKOFF_MS = 400;
const MAX_BACKOFF_MS = 8000;

export class Feed {
  // `fetchAfter(n)` returns the stored events after a sequence number. `onEvent(event)` gets every event once.
  // `onStateChange(state, reason)` gets 'live', 'down' or 'stale'. `onHello(fresh)` is called after each hello;
  // `fresh` is true if the numbering restarted, so that all data must be read again. `last` is the number to
  // resume from.
  constructor({ fetchAfter, onEvent, onStateChange, onHello, last = null, initialBackoff = INITIAL_BACKOFF_MS }) {
    Object.assign(this, { fetchAfter, onEvent, onStateChange, onHello, last, initialBackoff });
    this.buffered = [];
    this.catchingUp = false;
    this.backoff = initialBackoff;
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
    this.closeSocket();
  }

  // Connects immediately instead of waiting for the next retry.
  reconnectNow() {
    if (this.stopped || this.socket?.readyState === WebSocket.OPEN) return;
    this.backoff = this.initialBackoff;
    this.open();
  }

  // Discards the connection and schedules another.
  reconnect() {
    if (this.stopped) return;
    this.closeSocket();
    this.handleClose();
  }

  closeSocket() {
    const socket = this.socket;
    this.socket = null;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    socket?.close();
  }

  open() {
    clearTimeout(this.timer);
    this.closeSocket();
    const url = new URL('/api/v1/ws', location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    url.hash = '';
    if (this.last != null) url.searchParams.set('after', this.last);
    const socket = new WebSocket(url);
    this.socket = socket;
    socket.onmessage = (message) => this.handleMessage(message.data);
    socket.onclose = () => this.handleClose();
  }

  handleClose() {
    this.socket = null;
    this.buffered = [];
    if (this.stopped) return;
    this.onStateChange('down');
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.backoff * (0.75 + Math.random() / 2));
    this.backoff = Math.min(this.backoff * 2, MAX_BACKOFF_MS);
  }

  handleMessage(data) {
    const message = JSON.parse(data);
    switch (message.type) {
      case 'hello': return this.handleHello(message.last);
      case 'lagged': return this.catchUp();
      case 'stale': return this.onStateChange('stale', message.reason);
      case 'fresh': return this.onStateChange('live');
      default: return message.seq ? this.handleEvent(message) : undefined;
    }
  }

  handleHello(last) {
    // A lower number than ours means another store: our data does not apply to it.
    const fresh = this.last == null || last < this.last;
    if (fresh) this.last = last;
    this.backoff = this.initialBackoff;
    this.onStateChange('live');
    this.onHello(fresh);
  }

  handleEvent(event) {
    if (event.seq <= this.last) return;
    if (this.catchingUp || event.seq > this.last + 1) {
      this.buffered.push(event);
      this.catchUp();
      return;
    }
    this.last = event.seq;
    this.onEvent(event);
  }

  // Reads the missing events, then delivers the events buffered while reading.
  async catchUp() {
    if (this.catchingUp) return;
    this.catchingUp = true;
    const socket = this.socket;
    try {
      for (;;) {
        const { events } = await this.fetchAfter(this.last);
        for (const event of events) {
          if (event.seq <= this.last) continue;
          this.last = event.seq;
          this.onEvent(event);
        }
        if (events.length === 0) break;
      }
    } catch {
      // The buffered events must not be delivered with a gap before them: reconnect from the last number.
      this.catchingUp = false;
      if (this.socket === socket && socket) this.reconnect();
      return;
    }
    this.catchingUp = false;
    const buffered = this.buffered.sort((a, b) => a.seq - b.seq);
    this.buffered = [];
    for (const event of buffered) {
      if (event.seq <= this.last) continue;
      this.last = event.seq;
      this.onEvent(event);
    }
  }
}
