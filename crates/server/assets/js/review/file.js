// One file of a change: its header, its lines, and the comments between them.

import { fill, h } from '../dom.js';
import { plural } from '../text.js';
import { pill } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';
import { renderRow } from './line.js';
import { anchorKey, contentHash, rowKeys, rowLines, splitRows, unifiedRows } from './rows.js';
import { commentForm, mayComment, thread } from './thread.js';
import { VirtualList } from './virtual.js';
import { isViewed, setViewed } from './viewed.js';

// A file with more changed lines is folded until the user opens it.
const LARGE_LINES = 800;
const ROW_PX = 20;
const TONE = { added: 'good', deleted: 'bad', renamed: 'live' };

const fileName = (file) => (file.old_path && file.old_path !== file.path ? `${file.old_path} → ${file.path}` : file.path);

// The lines of files that are far from the window are rendered when they come near.
const lateFiles = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) target.fileView.wake();
}, { rootMargin: '1500px 0px' });

export class FileView {
  // `review` has what all files share: task, version, drafts, mode, columns, commentsOf(path), loadFile(path), onViewed().
  constructor(file, review, { deferred = false } = {}) {
    this.file = file;
    this.review = review;
    this.lists = [];
    this.openForm = null;
    this.deferred = deferred;
    this.forms = new Map();
    this.viewed = isViewed(review.task, file.path, () => contentHash(file));
    this.large = file.added + file.removed > LARGE_LINES;
    this.open = !this.viewed && !this.large;
    this.body = h('div', { class: 'file-body', tabindex: '0', role: 'region', 'aria-label': `Changes in ${file.path}` });
    this.node = h('section', { class: 'panel file', 'aria-label': file.path, data: { path: file.path } }, this.header(), this.body);
    this.body.fileView = this;
    this.body.addEventListener('click', (event) => this.onClick(event));
    this.body.addEventListener('keydown', (event) => this.onKey(event));
    this.render();
  }

  header() {
    const { file } = this;
    this.toggle = h('button', { class: 'file-toggle', type: 'button', 'aria-expanded': String(this.open), on: { click: () => this.setOpen(!this.open) } },
      h('span', { class: 'chevron' }, icon('chevron')), h('code', { class: 'truncate', title: fileName(file) }, fileName(file)));
    this.check = h('input', { type: 'checkbox', checked: this.viewed });
    this.check.addEventListener('change', () => this.setViewed(this.check.checked));
    const comment = mayComment() && this.review.version != null && h('button', { class: 'button plain square', type: 'button', 'aria-label': `Comment on ${file.path}`, title: 'Comment on the file', on: { click: () => this.comment(null) } }, icon('comment'));
    return h('header', { class: 'file-head' }, this.toggle, file.change !== 'modified' && pill(file.change, TONE[file.change] ?? 'none'),
      h('span', { class: 'line-counts num' }, h('span', { class: 'plus' }, `+${file.added}`), ' ', h('span', { class: 'minus' }, `−${file.removed}`)), comment,
      h('label', { class: 'viewed small' }, this.check, 'Viewed'));
  }

  setOpen(open) {
    if (this.open === open) return;
    this.deferred = false;
    this.open = open;
    this.render();
  }

  setViewed(viewed) {
    this.viewed = viewed;
    this.check.checked = viewed;
    setViewed(this.review.task, this.file.path, contentHash(this.file), viewed);
    this.setOpen(!viewed);
    this.review.onViewed();
  }

  // Shows other content of the same file, such as the same lines with highlighting.
  setFile(file) {
    // The whole file may have been loaded meanwhile.
    if (file.truncated && !this.file.truncated) return;
    this.file = file;
    if (!this.rows) return;
    const before = this.rows.length;
    this.rows = this.makeRows();
    if (this.rows.length !== before) this.render();
    else for (const list of this.lists) list.refresh();
  }

  makeRows() {
    return this.review.mode === 'split' ? splitRows(this.file) : unifiedRows(this.file);
  }

  render() {
    const { file } = this;
    this.toggle.setAttribute('aria-expanded', String(this.open));
    this.node.dataset.open = this.open;
    this.node.dataset.viewed = this.viewed;
    for (const list of this.lists) list.remove();
    this.lists = [];
    this.body.hidden = !this.open && !(this.large && !this.viewed);
    if (this.body.hidden) {
      fill(this.body);
    } else if (!this.open) {
      fill(this.body, h('p', { class: 'placeholder' }, `${plural(file.added + file.removed, 'line')} changed. `, h('button', { class: 'button', type: 'button', on: { click: () => this.setOpen(true) } }, 'Load the file')));
    } else if (this.deferred) {
      fill(this.body, h('div', { class: 'deferred', vars: { height: `${this.rowCount() * ROW_PX}px` } }));
      lateFiles.observe(this.body);
    } else {
      this.renderLines();
    }
  }

  rowCount() {
    return this.file.hunks.reduce((sum, hunk) => sum + 1 + hunk.lines.length, 0);
  }

  // Renders the lines of a file that was far from the window.
  wake() {
    lateFiles.unobserve(this.body);
    if (!this.deferred) return;
    this.deferred = false;
    if (this.open) this.render();
  }

  renderLines() {
    const { file } = this;
    this.rows = this.makeRows();
    const parts = [];
    const fileThread = this.threadAt(null);
    if (fileThread) parts.push(fileThread);
    let from = 0;
    const flush = (to) => {
      if (to > from) parts.push(this.list(from, to));
      from = to;
    };
    const places = this.places();
    this.rows.forEach((row, index) => {
      for (const key of row.hunk != null ? [] : new Set(rowKeys(row))) {
        if (!places.has(key)) continue;
        flush(index + 1);
        parts.push(this.threadAt(places.get(key)));
        places.delete(key);
      }
    });
    flush(this.rows.length);
    // Comments on lines that this diff does not show.
    for (const place of places.values()) parts.push(h('p', { class: 'placeholder small' }, `Line ${place.line}, which is not part of this diff:`), this.threadAt(place));
    if (this.rows.length === 0) parts.push(h('p', { class: 'placeholder' }, 'No lines to show: binary file, empty file or mode change.'));
    if (file.truncated) parts.push(this.truncatedNote());
    fill(this.body, parts);
    this.forms.get(this.openForm)?.focusText();
  }

  truncatedNote() {
    const button = h('button', { class: 'button', type: 'button' }, 'Load the whole file');
    button.addEventListener('click', async () => {
      button.disabled = true;
      const whole = await this.review.loadFile(this.file.path).catch(() => null);
      if (whole) {
        this.file = { ...whole, truncated: false };
        this.render();
      }
    });
    return h('p', { class: 'placeholder' }, 'The rest of this file is omitted. ', button);
  }

  // Returns the lines with comments or an open form, by key.
  places() {
    const { path } = this.file;
    const places = new Map();
    const note = (place) => place.line != null && places.set(anchorKey(place), { path, line: place.line, side: place.side });
    for (const { comment } of this.review.commentsOf(path)) note(comment);
    for (const comment of this.review.drafts.ofFile(path)) note(comment);
    if (this.openForm && this.openForm !== 'file') {
      const [side, line] = this.openForm.split(':');
      note({ side, line: Number(line) });
    }
    return places;
  }

  threadAt(place) {
    const { path } = this.file;
    const key = place ? anchorKey(place) : 'file';
    const here = ({ comment }) => (place ? comment.line === place.line && comment.side === place.side : comment.line == null);
    const comments = this.review.commentsOf(path).filter(here);
    const drafted = this.review.drafts.ofFile(path).some((comment) => here({ comment }));
    if (comments.length === 0 && !drafted && this.openForm !== key) return null;
    return thread({ path, ...(place ?? {}) }, comments, { drafts: this.review.drafts, version: this.review.version, form: this.openForm === key && this.form(key, place) });
  }

  // Returns the form for a line or the file. It keeps its text when the lines are rendered again.
  form(key, place) {
    if (!this.forms.has(key)) {
      const close = () => {
        this.forms.delete(key);
        this.openForm = null;
        this.render();
      };
      const label = place ? `Comment on line ${place.line}` : 'Comment on the file';
      this.forms.set(key, commentForm(label, (text) => {
        this.forms.delete(key);
        this.openForm = null;
        this.review.drafts.add({ path: this.file.path, ...(place ? { line: place.line, side: place.side } : {}), text });
      }, close));
    }
    return this.forms.get(key);
  }

  // Opens the form for a line, or for the whole file.
  comment(place) {
    if (!mayComment() || this.review.version == null) return;
    this.openForm = place ? anchorKey(place) : 'file';
    this.open = true;
    this.deferred = false;
    this.render();
  }

  list(from, to) {
    const perLine = this.review.columns();
    const commentable = mayComment() && this.review.version != null;
    const heights = this.rows.slice(from, to).map((row) => rowLines(row, perLine) * ROW_PX);
    const list = new VirtualList(heights, (index) => renderRow(this.rows[from + index], from + index, commentable));
    list.from = from;
    this.lists.push(list);
    return list.node;
  }

  // Estimates the heights again, after the width has changed.
  resize() {
    if (this.lists.length === 0) return;
    const perLine = this.review.columns();
    for (const list of this.lists) list.setHeights(this.rows.slice(list.from, list.from + list.length).map((row) => rowLines(row, perLine) * ROW_PX));
  }

  onClick(event) {
    const button = event.target.closest('button.ln');
    if (button) this.comment({ side: button.dataset.side, line: Number(button.dataset.line) });
  }

  // The arrow keys move from line to line.
  onKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.closest('textarea')) return;
    const buttons = [...this.body.querySelectorAll('button.ln')];
    const index = buttons.indexOf(document.activeElement);
    const next = index < 0 ? buttons.find((button) => button.getBoundingClientRect().top > 60) : buttons[index + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  remove() {
    lateFiles.unobserve(this.body);
    for (const list of this.lists) list.remove();
  }
}
