// Renders one row of a diff. Called for every row that comes into view, so it creates few elements.

import { escapeControl } from '../text.js';
import { anchorOf } from './rows.js';

const STYLE = /^[a-z]{1,12}$/;
const SIGN = { add: '+', del: '−', context: ' ' };

function element(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text != null) node.textContent = text;
  return node;
}

function code(line) {
  const node = element('code', 'tx');
  for (const span of line.spans) {
    const text = escapeControl(span.text);
    if (STYLE.test(span.style ?? '')) node.append(element('span', `s-${span.style}`, text));
    else node.append(text);
  }
  return node;
}

// The number of a line is the button to comment on it. The arrow keys move between these buttons.
function number(line, commentable) {
  if (!line) return element('span', 'ln');
  const anchor = anchorOf(line);
  if (!commentable) return element('span', 'ln', String(anchor.line));
  const node = element('button', 'ln', String(anchor.line));
  node.type = 'button';
  node.tabIndex = -1;
  node.dataset.side = anchor.side;
  node.dataset.line = anchor.line;
  node.setAttribute('aria-label', `${line.kind === 'add' ? 'Added' : line.kind === 'del' ? 'Removed' : 'Unchanged'} line ${anchor.line}. Comment`);
  return node;
}

function half(line, commentable, side) {
  const kind = line ? line.kind : 'none';
  const numbered = line && kind === 'context' && side === 'left' ? element('span', 'ln', String(line.old ?? '')) : number(line, commentable);
  const nodes = [numbered, element('span', 'sign', line ? SIGN[kind] : ' '), line ? code(line) : element('code', 'tx')];
  for (const node of nodes) node.classList.add(kind);
  return nodes;
}

export function renderRow(row, index, commentable) {
  if (row.hunk != null) return element('div', 'dl hunk', escapeControl(row.hunk));
  if (row.line) {
    const { line } = row;
    const node = element('div', `dl ${line.kind}`);
    const old = element('span', 'ln old', line.kind === 'context' ? String(line.old ?? '') : '');
    if (line.kind === 'del') node.append(number(line, commentable), element('span', 'ln'));
    else node.append(old, number(line, commentable));
    node.append(element('span', 'sign', SIGN[line.kind] ?? ' '), code(line));
    return node;
  }
  const node = element('div', 'dl split');
  node.append(...half(row.left, commentable, 'left'), ...half(row.right, commentable, 'right'));
  return node;
}
