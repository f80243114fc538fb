// Events made into what a person reads: pieces of text joined, a tool's start and end one thing. Pure.

export class Story {
  constructor() {
    this.items = [];
    this.tools = new Map();
    this.attempt = 0;
    this.plan = null;
    this.open = null;
    this.said = '';
    this.began = null;
  }

  // Takes an event, and gives the items that are new or changed.
  add(event) {
    const before = this.items.length;
    const changed = this.tell(event);
    const fresh = this.items.slice(before);
    return changed && !fresh.includes(changed) ? [...fresh, changed] : fresh;
  }

  push(kind, event, more = {}) {
    if (kind !== 'text' && kind !== 'thought') this.close();
    const item = { key: event.seq, kind, at: event.at, ...more };
    this.items.push(item);
    return item;
  }

  close() {
    if (this.open) this.open.done = true;
    this.open = null;
  }

  tell(event) {
    switch (event.type) {
      case 'task_status':
        if (event.status === 'in_progress') this.said = '';
        return this.push('status', event, { status: event.status, who: event.agent_id });
      case 'test_result': return this.push('tests', event, { result: event });
      case 'correction_attempt': return this.correction(event);
      // The agent's own event says what it asks.
      case 'activity_update': return event.activity_type === 'approval_requested' ? null
        : this.push('activity', event, { what: event.activity_type, text: event.message });
      case 'agent_event': return this.agent(event);
      default: return this.push('activity', event, { what: event.type, text: event.type });
    }
  }

  // The end of a round changes the item of its beginning.
  correction(event) {
    const known = this.items.findLast((item) => item.kind === 'correction');
    const same = known && known.round === event.attempt_num && known.status === 'in_progress';
    if (same && event.status !== 'in_progress') {
      known.status = event.status;
      known.problem = event.error_summary ?? known.problem;
      return known;
    }
    return this.push('correction', event, {
      round: event.attempt_num, rounds: event.max_attempts, status: event.status, problem: event.error_summary,
    });
  }

  agent(logged) {
    if (logged.attempt !== this.attempt) {
      this.attempt = logged.attempt;
      if (logged.attempt > 1) this.push('attempt', { seq: `attempt-${logged.attempt}-${logged.seq}`, at: logged.at }, { number: logged.attempt });
    }
    const event = logged.envelope.event;
    const turn = logged.envelope.turn;
    switch (event.type) {
      case 'Text': return this.piece('text', logged, event.text);
      case 'Thought': return this.piece('thought', logged, event.text);
      case 'Plan':
        this.plan = event.entries;
        return this.push('plan', logged, { entries: event.entries });
      case 'ToolStart': {
        const tool = this.push('tool', logged, { name: event.name, input: event.input, updates: [], running: true });
        this.tools.set(`${turn} ${event.id}`, tool);
        return tool;
      }
      case 'ToolProgress': {
        const tool = this.tools.get(`${turn} ${event.id}`);
        if (tool) tool.updates = [...tool.updates.slice(-19), event.update];
        return tool ?? null;
      }
      case 'ToolEnd': return this.toolEnd(logged, event, turn);
      case 'PermissionRequest': return this.push('permission', logged, { tool: event.tool, input: event.input });
      case 'Result': return this.result(logged, event);
      case 'Error': return this.push('fault', logged, { code: event.code, text: event.message });
      case 'SessionInvalid': return this.push('fault', logged, { code: 'SessionInvalid', text: event.reason });
      case 'SessionChanged': return null;
      default: return this.own(logged, event);
    }
  }

  // What only this agent has. Its steps are seen by what is done in them; a node of a composite is worth a line.
  own(logged, { type, kind = type, payload }) {
    if (kind === 'step') return null;
    if (kind === 'trace' && payload?.name) {
      const how = payload.error ? `failed: ${payload.error.message}` : `took ${(payload.duration_ms / 1000).toFixed(1)} s`;
      return this.push('activity', logged, { what: kind, text: `${payload.agent ?? payload.name} ${how}` });
    }
    return this.push('custom', logged, { what: kind, payload: payload ?? {} });
  }

  toolEnd(logged, event, turn) {
    const name = `${turn} ${event.id}`;
    const tool = this.tools.get(name) ?? this.push('tool', logged, { name: event.name, input: null, updates: [] });
    this.tools.delete(name);
    Object.assign(tool, { running: false, output: event.output, success: event.success, took: event.duration_ms });
    return tool;
  }

  piece(kind, logged, text) {
    if (kind === 'text') this.said += text;
    if (this.open?.kind === kind) {
      this.open.text += text;
      return this.open;
    }
    this.close();
    this.open = this.push(kind, logged, { text, done: false });
    return this.open;
  }

  // The whole answer, left out where its pieces were shown already.
  result(logged, event) {
    const plain = (text) => text.replace(/\s+/g, '');
    const known = plain(this.said).includes(plain(event.text ?? ''));
    this.said = '';
    return this.push('end', logged, { text: known ? '' : event.text, usage: event.usage });
  }
}
