// The change as a diff. The server sends the syntax highlighting.

import { api } from '../api.js';
import { h } from '../dom.js';
import { plural } from '../text.js';
import { emptyState, loadInto, notice, pill } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

const STYLE = /^[a-z]{1,12}$/;
const SIGN = { add: '+', del: '−', context: ' ' };
const TONE = { added: 'good', deleted: 'bad', renamed: 'live' };

function diffLine(row) {
  const spans = row.spans.map((part) => h('span', { class: STYLE.test(part.style ?? '') ? `s-${part.style}` : '' }, part.text));
  return h('tr', { class: row.kind }, h('td', { class: 'line-number' }, row.old == null ? '' : String(row.old)), h('td', { class: 'line-number' }, row.new == null ? '' : String(row.new)),
    h('td', { class: 'sign' }, SIGN[row.kind] ?? ' '), h('td', { class: 'text' }, spans));
}

function fileCard(file) {
  const name = file.old_path && file.old_path !== file.path ? `${file.old_path} → ${file.path}` : file.path;
  const rows = file.hunks.flatMap((hunk) => [h('tr', { class: 'hunk' }, h('td', { colspan: '4' }, hunk.header)), ...hunk.lines.map(diffLine)]);
  return h('details', { class: 'panel file', open: true },
    h('summary', {}, h('span', { class: 'chevron' }, icon('chevron')), h('code', { class: 'truncate' }, name), file.change !== 'modified' && pill(file.change, TONE[file.change] ?? 'none'),
      h('span', { class: 'line-counts num' }, h('span', { class: 'plus' }, `+${file.added}`), ' ', h('span', { class: 'minus' }, `−${file.removed}`))),
    rows.length > 0 && h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Changes in ${file.path}` }, h('table', { class: 'diff' }, h('tbody', {}, rows))),
    rows.length === 0 && h('p', { class: 'placeholder' }, 'No lines to show: binary file, empty file or mode change.'),
    file.truncated && h('p', { class: 'placeholder' }, 'The rest of this file is omitted.'));
}

function diffView(diff) {
  if (diff.files.length === 0) return emptyState('file', 'No changes');
  const [added, removed] = ['added', 'removed'].map((side) => diff.files.reduce((sum, file) => sum + file[side], 0));
  return h('div', { class: 'stack' },
    h('p', { class: 'small muted num' }, `${plural(diff.files.length, 'file')}, ${added} added and ${plural(removed, 'line')} removed`),
    diff.truncated && notice('warn', 'The change is too large to show completely.'),
    diff.files.map(fileCard));
}

// The changes to choose from: that on the task's branch first, then those of attempts, the newest first.
function choices(task, attempts) {
  const kept = attempts.filter((attempt) => attempt.commit).reverse();
  const label = (attempt) => `Attempt ${attempt.number} (${attempt.outcome ?? 'running'})`;
  return [...(task?.branch ? [{ label: `Branch ${task.branch}` }] : []), ...kept.map((attempt) => ({ attempt: attempt.number, label: label(attempt) }))];
}

export function changes({ id, task }) {
  const node = h('div');
  const refresh = () => loadInto(node, () => api.attempts(id), (attempts) => {
    const list = choices(task(), attempts);
    if (list.length === 0) return emptyState('file', 'No changes yet', h('p', {}, 'The change of every attempt is shown here, also if the attempt fails. Your checkout is unchanged until you merge.'));
    const body = h('div');
    const show = ({ attempt }) => { body.replaceChildren(); loadInto(body, () => api.diff(id, attempt), diffView); };
    const select = h('select', { class: 'input', 'aria-label': 'Change' }, list.map((choice, index) => h('option', { value: String(index) }, choice.label)));
    select.addEventListener('change', () => show(list[Number(select.value)]));
    show(list[0]);
    return h('div', { class: 'stack' }, list.length > 1 && select, body);
  });
  refresh();
  return { node, refresh: () => !node.querySelector('.file') && refresh() };
}
