// The files of a change as a tree of directories.

import { h } from '../dom.js';
import { icon } from '../widgets/icon.js';

// Groups files by directory. Directories with a single entry are joined to one row.
function buildTree(files) {
  const root = { name: '', dirs: new Map(), files: [] };
  for (const file of files) {
    const parts = file.path.split('/');
    let node = root;
    for (const part of parts.slice(0, -1)) {
      if (!node.dirs.has(part)) node.dirs.set(part, { name: part, dirs: new Map(), files: [] });
      node = node.dirs.get(part);
    }
    node.files.push({ name: parts.at(-1), file });
  }
  const join = (node) => {
    node.dirs = [...node.dirs.values()].map((dir) => {
      let joined = dir;
      while (joined.files.length === 0 && joined.dirs.size === 1) {
        const [only] = joined.dirs.values();
        joined = { ...only, name: `${joined.name}/${only.name}` };
      }
      return join(joined);
    });
    return node;
  };
  return join(root);
}

const MARK = { added: 'A', deleted: 'D', renamed: 'R', modified: 'M' };

// `state(file)` returns `{ viewed, comments }`. `select(file)` scrolls to the file.
export function fileTree(files, { state, select }) {
  const links = new Map();
  const fileItem = ({ name, file }) => {
    const mark = h('span', { class: 'mark', data: { change: file.change }, title: file.change, 'aria-label': file.change }, MARK[file.change] ?? 'M');
    const comments = h('span', { class: 'comments num' });
    const link = h('button', { class: 'tree-file', type: 'button', title: file.path, on: { click: () => select(file) } }, mark, h('span', { class: 'truncate' }, name), comments, h('span', { class: 'seen', 'aria-hidden': 'true' }, icon('check')));
    links.set(file.path, { link, comments });
    return h('li', {}, link);
  };
  const list = (node) => h('ul', {}, node.dirs.map((dir) => h('li', {}, h('details', { open: true }, h('summary', {}, icon('folder'), h('span', { class: 'truncate' }, dir.name)), list(dir)))), node.files.map(fileItem));
  const node = h('div', { class: 'file-tree', role: 'group', 'aria-label': 'Changed files' }, list(buildTree(files)));
  const update = () => {
    for (const file of files) {
      const { viewed, comments } = state(file);
      const entry = links.get(file.path);
      entry.link.dataset.viewed = viewed;
      entry.link.setAttribute('aria-description', viewed ? 'viewed' : '');
      entry.comments.textContent = comments ? String(comments) : '';
    }
  };
  const highlight = (path) => {
    for (const [other, { link }] of links) {
      if (other === path) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  };
  update();
  return { node, update, highlight };
}
