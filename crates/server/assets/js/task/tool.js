// Renders the input and output of a tool call. Edits are shown as diffs, and the output of commands as text.

import { h } from '../dom.js';
import { pathInClone, toText, unwrapShell } from '../text.js';

const OLD_KEYS = ['old', 'old_string', 'oldText', 'old_str'];
const NEW_KEYS = ['new', 'new_string', 'newText', 'new_str'];
const OUTPUT_KEYS = ['output', 'stdout', 'text', 'content', 'aggregated_output'];
const MAX_CHARS = 20_000;

const pick = (input, names) => names.map((name) => input?.[name]).find((value) => typeof value === 'string');

function limit(text) {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… ${text.length - MAX_CHARS} more characters` : text;
}

function block(title, text, kind = '') {
  return [h('h4', {}, title), h('pre', { class: `code ${kind}`, tabindex: '0' }, limit(text))];
}

function lines(text, kindOf) {
  const all = limit(text).replace(/\n$/, '').split('\n');
  return all.map((line) => h('span', { class: kindOf(line) }, line || ' '));
}

const codeBlock = (...rows) => h('pre', { class: 'code edit', tabindex: '0' }, rows);

const PATCH = { '+': 'plus', '-': 'minus', '@': 'muted' };

// Renders a patch as written by git or an agent.
export const patch = (text) => codeBlock(lines(text, (line) => (/^(\+\+\+|---|diff |index )/.test(line) ? 'muted' : PATCH[line[0]] ?? '')));

// Renders the input of a tool call: an edit, a patch, the content of a file, a command, or anything else as JSON.
export function inputBlocks(input) {
  if (input == null) return null;
  const [before, after] = [pick(input, OLD_KEYS), pick(input, NEW_KEYS)];
  if (before != null && after != null) return [h('h4', {}, 'Edit'), codeBlock(lines(before, () => 'del'), lines(after, () => 'add'))];
  const patches = Array.isArray(input.changes) ? input.changes.filter((change) => typeof change?.diff === 'string') : [];
  if (patches.length) return patches.map((change) => [h('h4', {}, pathInClone(change.path ?? 'Change')), patch(change.diff)]);
  if (typeof input.content === 'string') return block('Content', input.content);
  const command = input.command ?? input.cmd;
  if (command != null) return block('Command', unwrapShell(command));
  return Object.keys(input).length ? block('Input', toText(input)) : null;
}

// Output is often an object with one text field and an exit code.
function outputBlocks(output, failed) {
  const title = failed ? 'Error' : 'Output';
  const kind = failed ? 'bad' : '';
  if (output == null || output === '') return null;
  if (typeof output !== 'object' || Array.isArray(output)) return block(title, toText(output), kind);
  const outputText = pick(output, OUTPUT_KEYS);
  const code = output.exit_code ?? output.exitCode;
  const values = Object.values(output);
  const text = outputText ?? (values.length === 1 && typeof values[0] === 'string' ? values[0] : null);
  if (text == null) return block(title, toText(output), kind);
  const stderr = typeof output.stderr === 'string' && output.stderr ? block('Standard error', output.stderr) : null;
  return [block(code == null ? title : `${title}, exit code ${code}`, text || '(empty)', kind), stderr];
}

export function toolBody(tool) {
  const progress = tool.running && tool.updates.length ? toText(tool.updates.at(-1)) : '';
  // Some agents return the input as the output.
  const echoesInput = JSON.stringify(tool.output) === JSON.stringify(tool.input);
  return [inputBlocks(tool.input), progress && block('Progress', progress), !echoesInput && outputBlocks(tool.output, tool.success === false)];
}
