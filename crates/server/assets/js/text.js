// Words and figures for people. Nothing here touches the page.

const JOINERS = new Set(['\u200c', '\u200d']);

function mayHide(c) {
  return (c <= 0x1f && c !== 0x09 && c !== 0x0a) || (c >= 0x7f && c <= 0x9f)
    || c === 0xad || c === 0x34f || c === 0x61c || c === 0x180e
    || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f)
    || c === 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

// The text with everything that hides or commands written out, by the same rules as on the terminal.
export function visible(text) {
  let shown = '';
  let before = ' ';
  const chars = Array.from(String(text));
  for (let at = 0; at < chars.length; at += 1) {
    const c = chars[at];
    const code = c.codePointAt(0);
    if (c === '\r' && chars[at + 1] === '\n') {
      // A line end of another system is a line end.
    } else if (JOINERS.has(c) && before.codePointAt(0) > 0x7f) {
      shown += c;
    } else if (mayHide(code)) {
      shown += `\\u{${code.toString(16)}}`;
    } else {
      shown += c;
    }
    before = c;
  }
  return shown;
}

export function firstLine(text) {
  const lines = String(text ?? '').trim().split('\n');
  return lines[0];
}

// The text without the marks that Markdown puts around words.
export const plain = (text) => String(text ?? '').replace(/\*\*|`/g, '');

export function cut(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

// Whether an agent says how far it is with its plan.
export const isTracked = (entries) => entries.some((entry) => entry.status !== 'pending');

export function progress(entries) {
  const done = entries.filter((entry) => entry.status === 'completed').length;
  return isTracked(entries) ? `${done} of ${plural(entries.length, 'step')} done` : plural(entries.length, 'step');
}

const STATUS = {
  pending: 'Waiting',
  in_progress: 'Working',
  blocked: 'Needs you',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

const TONE = { in_progress: 'live', blocked: 'ask', completed: 'good', failed: 'bad' };

export const statusWord = (status) => STATUS[status] ?? status;
export const statusTone = (status) => TONE[status] ?? 'none';

// How long something took.
export function span(ms) {
  if (ms == null) return '';
  if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}\u00a0s`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s}\u00a0s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${s % 60} s`;
  return `${Math.floor(m / 60)} h ${m % 60} min`;
}

// How long ago something was.
export function ago(at, now = Date.now()) {
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
export const clock = (at) => CLOCK.format(at);
export const moment = (at) => `${day(at)}, ${clock(at)}`;

// A figure in four characters or so.
export function count(n) {
  if (n == null) return '–';
  if (n < 1000) return String(n);
  if (n < 10_000) return `${(n / 1000).toFixed(1)}k`;
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function money(usd) {
  if (usd == null) return '–';
  if (usd === 0) return '$0';
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export const tokens = (usage) => (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
export const short = (hash) => String(hash ?? '').slice(0, 12);

// Within an attempt's clone the folders above it say nothing.
export function innerPath(path) {
  const rest = String(path).split('-attempt-')[1];
  return rest?.split('/').slice(2).join('/') || String(path);
}

// A command without the shell that an agent puts around each of its own.
export function unwrapped(command) {
  if (Array.isArray(command)) return command.length === 3 && /sh$/.test(command[0]) && /^-l?c$/.test(command[1]) ? command[2] : command.join(' ');
  const inner = String(command).match(/^(?:\/usr)?(?:\/bin\/)?(?:ba|z)?sh -l?c '([^']*)'$/);
  return inner ? inner[1] : String(command);
}

// What a tool is given, in a few words: the file, the command, or the first thing that is text.
export function brief(input) {
  if (input == null) return '';
  if (typeof input !== 'object') return firstLine(input);
  const path = input.path ?? input.file_path ?? input.filePath ?? input.changes?.[0]?.path;
  if (typeof path === 'string') return innerPath(path);
  const command = input.command ?? input.cmd;
  if (command != null) return firstLine(unwrapped(command));
  const said = Object.values(input).find((value) => typeof value === 'string' && value);
  return said ? firstLine(said) : Object.keys(input).length ? JSON.stringify(input) : '';
}

// Anything as text to read: strings as they are, the rest as JSON.
export function readable(value) {
  if (value == null) return '';
  if (typeof value === 'string') return value;
  return JSON.stringify(value, null, 2);
}
