// Formats text, times and numbers. Does not touch the DOM.

const JOINERS = new Set(['\u200c', '\u200d']);

function isUnsafeChar(c) {
  return (c <= 0x1f && c !== 0x09 && c !== 0x0a) || (c >= 0x7f && c <= 0x9f)
    || c === 0xad || c === 0x34f || c === 0x61c || c === 0x180e
    || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f)
    || c === 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

// Matches every character that may have to be escaped. Most texts have none.
const SUSPECT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

// Escapes control and invisible characters, by the same rules as for the terminal.
export function escapeControl(text) {
  if (!SUSPECT.test(text)) return String(text);
  let escaped = '';
  let previous = ' ';
  const chars = Array.from(String(text));
  for (let at = 0; at < chars.length; at += 1) {
    const c = chars[at];
    const code = c.codePointAt(0);
    if (c === '\r' && chars[at + 1] === '\n') {
      // CRLF counts as a line feed.
    } else if (JOINERS.has(c) && previous.codePointAt(0) > 0x7f) {
      escaped += c;
    } else if (isUnsafeChar(code)) {
      escaped += `\\u{${code.toString(16)}}`;
    } else {
      escaped += c;
    }
    previous = c;
  }
  return escaped;
}

export function firstLine(text) {
  const lines = String(text ?? '').trim().split('\n');
  return lines[0];
}

// Removes the Markdown markers for bold and code.
export const stripMarkdown = (text) => String(text ?? '').replace(/\*\*|`/g, '');

export function truncate(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function plural(count, singular, many = `${singular}s`) {
  return `${count} ${count === 1 ? singular : many}`;
}

// Returns true if the agent reports progress on its plan.
export const isTracked = (entries) => entries.some((entry) => entry.status !== 'pending');

export function progress(entries) {
  const done = entries.filter((entry) => entry.status === 'completed').length;
  return isTracked(entries) ? `${done} of ${plural(entries.length, 'step')} done` : plural(entries.length, 'step');
}

const STATUS = {
  pending: 'Pending',
  in_progress: 'Running',
  blocked: 'Needs input',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

const TONE = { in_progress: 'live', blocked: 'warn', completed: 'good', failed: 'bad' };

export const statusLabel = (status) => STATUS[status] ?? status;
export const statusTone = (status) => TONE[status] ?? 'none';

// Returns the name of the agent that works on a task.
export const agentName = (task, defaultAgent) => task.agent ?? defaultAgent ?? 'default agent';

// Returns true if a task continues only after a person has answered.
export const isWaitingForPerson = (task, { approvals }) => task.status === 'blocked'
  || (task.status === 'in_progress' && approvals.some((approval) => approval.attempt.task === task.id));

// Formats a duration in milliseconds.
export function formatDuration(ms) {
  if (ms == null) return '';
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}\u00a0s`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s}\u00a0s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${s % 60} s`;
  return `${Math.floor(m / 60)} h ${m % 60} min`;
}

// Formats a time relative to now.
export function timeAgo(at, now = Date.now()) {
  const s = Math.floor((now - at) / 1000);
  if (s < 5) return 'just now';
  if (s < 60) return `${s} s ago`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ago`;
  const h = Math.floor(m / 60);
  if (h < 24) return `${h} h ago`;
  const d = Math.floor(h / 24);
  return d < 30 ? plural(d, 'day') + ' ago' : day(at);
}

const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' });
const CLOCK = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

export const day = (at) => DAY.format(at);
export const formatTime = (at) => CLOCK.format(at);
export const formatDateTime = (at) => `${day(at)}, ${formatTime(at)}`;

// Formats a number in about four characters.
export function count(n) {
  if (n == null) return '–';
  if (n < 1000) return String(n);
  if (n < 10_000) return `${(n / 1000).toFixed(1)}k`;
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function formatCost(usd) {
  if (usd == null) return '–';
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

// Formats the time until a deadline, such as "4:05".
export function timeLeft(deadline, now = Date.now()) {
  const s = Math.max(0, Math.ceil((deadline - now) / 1000));
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}

// Lists the parts of a test run that are not zero. Skipped tests are the rest of the total.
export function testCounts({ passed, failed, errors, total }) {
  const skipped = Math.max(0, (total ?? 0) - passed - failed - errors);
  const parts = [`${passed} passed`, failed && `${failed} failed`, errors && plural(errors, 'error'), skipped && `${skipped} skipped`];
  return parts.filter(Boolean).join(', ');
}

const ASSERTION = /assert|expected|panicked|error|exception|mismatch|!=|≠|\bgot\b/i;

// Splits the message of a failed test into its first assertion and the rest.
export function splitFailure(message) {
  const lines = String(message ?? '').split('\n').filter((line) => line.trim());
  // pytest marks the assertion with "E".
  const marked = lines.find((line) => /^E\s+\S/.test(line))?.replace(/^E\s+/, '');
  const found = marked ?? lines.find((line) => ASSERTION.test(line) && !/^\s*(at |File |Traceback)/.test(line)) ?? lines[0] ?? '';
  return { assertion: truncate(found.trim(), 400), rest: lines.length > 1 ? lines.join('\n') : '' };
}

export const tokens = (usage) => (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
export const shortHash = (hash) => String(hash ?? '').slice(0, 12);

// Removes the directories above an attempt's clone from a path.
export function pathInClone(path) {
  const rest = String(path).split('-attempt-')[1];
  return rest?.split('/').slice(2).join('/') || String(path);
}

// Removes the shell that some agents wrap around every command.
export function unwrapShell(command) {
  if (Array.isArray(command)) return command.length === 3 && /sh$/.test(command[0]) && /^-l?c$/.test(command[1]) ? command[2] : command.join(' ');
  const inner = String(command).match(/^(?:\/usr)?(?:\/bin\/)?(?:ba|z)?sh -l?c '([^']*)'$/);
  return inner ? inner[1] : String(command);
}

// Summarizes a tool's input: the file, the command, or the first string value.
export function inputSummary(input) {
  if (input == null) return '';
  if (typeof input !== 'object') return firstLine(input);
  const path = input.path ?? input.file_path ?? input.filePath ?? input.changes?.[0]?.path;
  if (typeof path === 'string') return pathInClone(path);
  const command = input.command ?? input.cmd;
  if (command != null) return firstLine(unwrapShell(command));
  const text = Object.values(input).find((value) => typeof value === 'string' && value);
  return text ? firstLine(text) : Object.keys(input).length ? JSON.stringify(input) : '';
}

// Converts a value to text: strings unchanged, everything else as JSON.
export function toText(value) {
  if (value == null) return '';
  if (typeof value === 'string') return value;
  return JSON.stringify(value, null, 2);
}
