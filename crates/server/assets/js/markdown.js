// Renders the subset of Markdown that agents use. Links stay text, because an agent's links are not trusted.

import { h } from './dom.js';

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^*\n]+)\*\*/g;

function inline(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(from, match.index));
    parts.push(match[1] ? h('code', {}, match[2]) : h('strong', {}, match[3]));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

const BULLET = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;

// Returns an element with one child per block.
export function markdown(text) {
  const lines = String(text).split('\n');
  const blocks = [];
  let lineIndex = 0;
  const takeWhile = (matches) => {
    const from = lineIndex;
    while (lineIndex < lines.length && matches(lines[lineIndex])) lineIndex += 1;
    return lines.slice(from, lineIndex);
  };
  while (lineIndex < lines.length) {
    const line = lines[lineIndex];
    const fence = line.match(/^\s*(```+|~~~+)/);
    const heading = line.match(/^#{1,6}\s+(.*)$/);
    if (fence) {
      lineIndex += 1;
      const code = takeWhile((next) => !next.trim().startsWith(fence[1]));
      lineIndex += 1;
      blocks.push(h('pre', {}, h('code', {}, code.join('\n'))));
    } else if (heading) {
      lineIndex += 1;
      blocks.push(h('h4', {}, inline(heading[1])));
    } else if (BULLET.test(line)) {
      const ordered = line.match(BULLET)[1] != null;
      const rows = takeWhile((next) => BULLET.test(next) || (/^\s{2,}\S/.test(next)));
      blocks.push(h(ordered ? 'ol' : 'ul', {}, rows.map((row) => h('li', {}, inline(row.match(BULLET)?.[2] ?? row.trim())))));
    } else if (/^>\s?/.test(line)) {
      const rows = takeWhile((next) => /^>\s?/.test(next));
      blocks.push(h('blockquote', {}, inline(rows.map((row) => row.replace(/^>\s?/, '')).join(' '))));
    } else if (line.trim() === '') {
      lineIndex += 1;
    } else {
      const special = (next) => next.trim() === '' || /^(#{1,6}\s|\s*(```|~~~)|>)/.test(next) || BULLET.test(next);
      const rows = [lines[lineIndex]];
      lineIndex += 1;
      rows.push(...takeWhile((next) => !special(next)));
      blocks.push(h('p', {}, rows.flatMap((row, index) => (index ? [h('br'), ...inline(row)] : inline(row)))));
    }
  }
  return h('div', { class: 'prose' }, blocks);
}
