// What a tool was given and what it gave back. An edit is shown as one, a command's output as output.

import { h } from '../dom.js';
import { innerPath, readable, unwrapped } from '../text.js';

const OLD = ['old', 'old_string', 'oldText', 'old_str'];
const NEW = ['new', 'new_string', 'newText', 'new_str'];
const SAID = ['output', 'stdout', 'text', 'content', 'aggregated_output'];
const MOST = 20_000;

const pick = (input, names) => names.map((name) => input?.[name]).find((value) => typeof value === 'string');

function bounded(text) {
  return text.length > MOST ? `${text.slice(0, MOST)}\n… ${text.length - MOST} more characters` : text;
}

function block(title, text, kind = '') {
  return [h('h4', {}, title), h('pre', { class: `code ${kind}`, tabindex: '0' }, bounded(text))];
}

function lines(text, kindOf) {
  const all = bounded(text).replace(/\n$/, '').split('\n');
  return all.map((line) => h('span', { class: kindOf(line) }, line || ' '));
}

const sheet = (...rows) => h('pre', { class: 'code edit', tabindex: '0' }, rows);

const PATCH = { '+': 'plus', '-': 'minus', '@': 'quiet' };

// A patch as git or an agent writes it.
export const patch = (text) => sheet(lines(text, (line) => (/^(\+\+\+|---|diff |index )/.test(line) ? 'quiet' : PATCH[line[0]] ?? '')));

function given(input) {
  if (input == null) return null;
  const [before, after] = [pick(input, OLD), pick(input, NEW)];
  if (before != null && after != null) return [h('h4', {}, 'Edit'), sheet(lines(before, () => 'del'), lines(after, () => 'add'))];
  const patches = Array.isArray(input.changes) ? input.changes.filter((one) => typeof one?.diff === 'string') : [];
  if (patches.length) return patches.map((one) => [h('h4', {}, innerPath(one.path ?? 'Change')), patch(one.diff)]);
  if (typeof input.content === 'string') return block('Content', input.content);
  const command = input.command ?? input.cmd;
  if (command != null) return block('Command', unwrapped(command));
  return Object.keys(input).length ? block('Input', readable(input)) : null;
}

// Output often comes as an object around one text, with an exit code beside it.
function gave(output, failed) {
  const title = failed ? 'Failed with' : 'Output';
  const kind = failed ? 'bad' : '';
  if (output == null || output === '') return null;
  if (typeof output !== 'object' || Array.isArray(output)) return block(title, readable(output), kind);
  const said = pick(output, SAID);
  const code = output.exit_code ?? output.exitCode;
  const only = Object.values(output);
  const text = said ?? (only.length === 1 && typeof only[0] === 'string' ? only[0] : null);
  if (text == null) return block(title, readable(output), kind);
  const stderr = typeof output.stderr === 'string' && output.stderr ? block('Standard error', output.stderr) : null;
  return [block(code == null ? title : `${title}, exit code ${code}`, text || '(nothing)', kind), stderr];
}

export function toolBody(tool) {
  const progress = tool.running && tool.updates.length ? readable(tool.updates.at(-1)) : '';
  // Some agents give back what they were given.
  const echo = JSON.stringify(tool.output) === JSON.stringify(tool.input);
  return [given(tool.input), progress && block('So far', progress), !echo && gave(tool.output, tool.success === false)];
}
