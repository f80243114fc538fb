// A table whose first column has a bar behind each name.

import { h } from '../dom.js';

// `columns` are pairs of a heading and a function that returns the cell of a row; `size` is the length of a bar.
export function bars(rows, name, size, columns) {
  const top = Math.max(...rows.map(size), 0) || 1;
  const heading = (text, isNumber) => h('th', { scope: 'col', class: isNumber ? 'end' : '' }, text);
  return h('div', { class: 'wide-table' }, h('table', { class: 'panel bars' },
    h('thead', {}, h('tr', {}, heading(name, false), columns.map(([text]) => heading(text, true)))),
    h('tbody', {}, rows.map((row) => h('tr', {},
      h('th', { scope: 'row' }, h('span', { class: 'truncate', title: row.name }, row.name), h('span', { class: 'track' }, h('i', { vars: { w: `${(100 * size(row)) / top}%` } }))),
      columns.map(([, cell]) => h('td', { class: 'num end' }, cell(row))))))));
}
