// The change as a diff. Which words have which colour is the server's to say.

import { api } from '../api.js';
import { h } from '../dom.js';
import { plural } from '../text.js';
import { empty, loaded, notice, pill } from '../widgets/bits.js';
import { icon } from '../widgets/icon.js';

const STYLE = /^[a-z]{1,12}$/;
const SIGN = { add: '+', del: '−', context: ' ' };
const TONE = { added: 'good', deleted: 'bad', renamed: 'live' };

function line(one) {
  const spans = one.spans.map((part) => h('span', { class: STYLE.test(part.style ?? '') ? `s-${part.style}` : '' }, part.text));
  return h('tr', { class: one.kind }, h('td', { class: 'no' }, one.old == null ? '' : String(one.old)), h('td', { class: 'no' }, one.new == null ? '' : String(one.new)),
    h('td', { class: 'sign' }, SIGN[one.kind] ?? ' '), h('td', { class: 'text' }, spans));
}

function fileCard(file) {
  const name = file.old_path && file.old_path !== file.path ? `${file.old_path} → ${file.path}` : file.path;
  const rows = file.hunks.flatMap((hunk) => [h('tr', { class: 'hunk' }, h('td', { colspan: '4' }, hunk.header)), ...hunk.lines.map(line)]);
  return h('details', { class: 'panel file', open: true },
    h('summary', {}, h('span', { class: 'turn' }, icon('chevron')), h('code', { class: 'cut' }, name), file.change !== 'modified' && pill(file.change, TONE[file.change] ?? 'none'),
      h('span', { class: 'sums num' }, h('span', { class: 'plus' }, `+${file.added}`), ' ', h('span', { class: 'minus' }, `−${file.removed}`))),
    rows.length > 0 && h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Change of ${file.path}` }, h('table', { class: 'diff' }, h('tbody', {}, rows))),
    rows.length === 0 && h('p', { class: 'none' }, 'No lines to show: a binary file, an empty one, or another mode.'),
    file.truncated && h('p', { class: 'none' }, 'The rest of this file is left out.'));
}

function show(diff) {
  if (diff.files.length === 0) return empty('file', 'Nothing was changed');
  const [added, removed] = ['added', 'removed'].map((side) => diff.files.reduce((sum, file) => sum + file[side], 0));
  return h('div', { class: 'stack' },
    h('p', { class: 'small quiet num' }, `${plural(diff.files.length, 'file')}, ${added} added and ${plural(removed, 'line')} removed`),
    diff.truncated && notice('ask', 'The change is larger than what is shown.'),
    diff.files.map(fileCard));
}

export function changes({ id, task }) {
  const node = h('div');
  const read = () => {
    if (!task()?.branch) {
      node.replaceChildren(empty('file', 'No change yet', h('p', {}, 'When the tests pass, the change is committed to a branch of its own and shown here. Your checkout stays as it is until you merge.')));
      return;
    }
    node.replaceChildren();
    loaded(node, () => api.diff(id), show);
  };
  read();
  return { node, changed: () => task()?.branch && !node.querySelector('.file') && read() };
}
