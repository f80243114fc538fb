// What a tool was given and what it gave back. An edit is shown as one.

import { h } from '../dom.js';
import { readable } from '../text.js';

const OLD = ['old', 'old_string', 'oldText', 'old_str'];
const NEW = ['new', 'new_string', 'newText', 'new_str'];
const MOST = 20_000;

const pick = (input, names) => names.map((name) => input?.[name]).find((value) => typeof value === 'string');

function bounded(text) {
  return text.length > MOST ? `${text.slice(0, MOST)}\n… ${text.length - MOST} more characters` : text;
}

function block(title, text, kind = '') {
  return [h('h4', {}, title), h('pre', { class: `code ${kind}`, tabindex: '0' }, bounded(text))];
}

function edit(before, after) {
  const lines = (text, kind) => bounded(text).split('\n').map((line) => h('span', { class: kind }, line));
  return h('pre', { class: 'code edit', tabindex: '0' }, lines(before, 'del'), lines(after, 'add'));
}

function given(input) {
  if (input == null) return null;
  const [before, after] = [pick(input, OLD), pick(input, NEW)];
  if (before != null && after != null) return [h('h4', {}, 'Edit'), edit(before, after)];
  if (typeof input.content === 'string') return block('Content', input.content);
  const command = input.command ?? input.cmd;
  if (command != null) return block('Command', Array.isArray(command) ? command.join(' ') : String(command));
  return Object.keys(input).length ? block('Input', readable(input)) : null;
}

// Output often comes as an object around one text.
function gave(output) {
  if (output == null) return '';
  if (typeof output === 'object' && !Array.isArray(output)) {
    const texts = Object.values(output);
    if (texts.length === 1 && typeof texts[0] === 'string') return texts[0];
  }
  return readable(output);
}

export function toolBody(tool) {
  const said = gave(tool.output);
  const progress = tool.running && tool.updates.length ? readable(tool.updates.at(-1)) : '';
  return [given(tool.input), progress && block('So far', progress), said && block(tool.success === false ? 'Failed with' : 'Output', said, tool.success === false ? 'bad' : '')];
}
