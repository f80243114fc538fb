// Converts events to timeline items: joins text chunks, and merges a tool's start and end. Has no side effects.

// Agents that do not stream send one event per message. A whole sentence after a whole sentence, without a space between
// them, is a new message: the chunks of a stream have the space.
function isNewMessage(before, text) {
  return /[.!?:)`]$/.test(before) && /^[\p{Lu}`*#-]/u.test(text) && text.trim().length > 12 && /\s/.test(text.trim());
}

export class TimelineModel {
  constructor() {
    this.items = [];
    this.tools = new Map();
    this.attempt = 0;
    this.plan = null;
    this.open = null;
    this.divider = null;
    this.touched = new Set();
    this.lastTurn = null;
    this.lastStatus = null;
    this.answerText = '';
  }

  // Applies an event. Returns the items that are new or changed.
  add(event) {
    const before = this.items.length;
    this.touched.clear();
    const updated = this.apply(event);
    const fresh = this.items.slice(before);
    if (updated) this.touched.add(updated);
    return [...fresh, ...[...this.touched].filter((item) => !fresh.includes(item))];
  }

  push(kind, event, fields = {}) {
    if (kind !== 'text' && kind !== 'thought') this.close();
    const item = { key: event.seq, kind, at: event.at, ...fields };
    this.items.push(item);
    return item;
  }

  close() {
    if (this.open) this.open.done = true;
    this.open = null;
  }

  apply(event) {
    switch (event.type) {
      case 'task_status': return this.status(event);
      case 'test_result': return this.push('tests', event, { result: event });
      case 'correction_attempt': return this.correction(event);
      // The agent's PermissionRequest event is shown instead.
      case 'activity_update': return event.activity_type === 'approval_requested' ? null
        : this.push('activity', event, { type: event.activity_type, text: event.message });
      case 'agent_event': return this.agentEvent(event);
      default: return this.push('activity', event, { type: event.type, text: event.type });
    }
  }

  // An attempt begins when the task is claimed. Its number is confirmed by the first event of its agent.
  status(event) {
    // Edits and landings repeat the status.
    if (event.status !== 'in_progress' && event.status === this.lastStatus) return null;
    this.lastStatus = event.status;
    this.stopTools();
    if (event.status === 'in_progress') {
      this.answerText = '';
      this.lastTurn = null;
      this.attempt += 1;
      this.divider = this.push('attempt', { seq: `attempt-${event.seq}`, at: event.at }, { number: this.attempt });
    }
    return this.push('status', event, { status: event.status, agent: event.agent_id });
  }

  // Tools that have not ended when the attempt or the turn ends will not end any more.
  stopTools() {
    for (const tool of this.tools.values()) {
      Object.assign(tool, { running: false, stopped: true });
      this.touched.add(tool);
    }
    this.tools.clear();
  }

  // Updates the item of the round when the round ends.
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

  agentEvent(logged) {
    if (logged.attempt !== this.attempt) {
      this.attempt = logged.attempt;
      if (this.divider) {
        this.divider.number = logged.attempt;
        this.touched.add(this.divider);
      } else {
        this.divider = this.push('attempt', { seq: `attempt-${logged.seq}`, at: logged.at }, { number: logged.attempt });
      }
    }
    const event = logged.envelope.event;
    const turn = logged.envelope.turn;
    // A new turn begins a new message.
    if (this.lastTurn != null && turn !== this.lastTurn) this.close();
    this.lastTurn = turn;
    switch (event.type) {
      case 'Text': return this.appendText('text', logged, event.text);
      case 'Thought': return this.appendText('thought', logged, event.text);
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
      case 'Error': return this.push('error', logged, { code: event.code, text: event.message });
      case 'SessionInvalid': return this.push('error', logged, { code: 'SessionInvalid', text: event.reason });
      case 'SessionChanged': return null;
      default: return this.customEvent(logged, event);
    }
  }

  // Handles agent-specific events. Steps are not shown, because their content is; a composite node gets one line.
  customEvent(logged, { type, kind = type, payload }) {
    if (kind === 'step') return null;
    if (kind === 'trace' && payload?.name) {
      const outcome = payload.error ? `failed: ${payload.error.message}` : `took ${(payload.duration_ms / 1000).toFixed(1)} s`;
      return this.push('activity', logged, { type: kind, text: `${payload.agent ?? payload.name} ${outcome}` });
    }
    return this.push('custom', logged, { type: kind, payload: payload ?? {} });
  }

  toolEnd(logged, event, turn) {
    const name = `${turn} ${event.id}`;
    const tool = this.tools.get(name) ?? this.push('tool', logged, { name: event.name, input: null, updates: [] });
    this.tools.delete(name);
    Object.assign(tool, { running: false, output: event.output, success: event.success, durationMs: event.duration_ms });
    return tool;
  }

  appendText(kind, logged, text) {
    if (kind === 'text') this.answerText += text;
    if (this.open?.kind === kind) {
      this.open.text += isNewMessage(this.open.text, text) ? `\n\n${text}` : text;
      return this.open;
    }
    this.close();
    this.open = this.push(kind, logged, { text, done: false });
    return this.open;
  }

  // Adds the final answer. Its text is omitted if the streamed chunks already showed it.
  result(logged, event) {
    const withoutSpace = (text) => text.replace(/\s+/g, '');
    const known = withoutSpace(this.answerText).includes(withoutSpace(event.text ?? ''));
    this.answerText = '';
    this.stopTools();
    return this.push('end', logged, { text: known ? '' : event.text, usage: event.usage });
  }
}
