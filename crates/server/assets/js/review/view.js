// A change under review: the tree of files, and the files with their comments.

import { fill, h, setText } from '../dom.js';
import { markdown } from '../markdown.js';
import { plural } from '../text.js';
import { emptyState, notice } from '../widgets/common.js';
import { FileView } from './file.js';
import { fileTree } from './tree.js';
import { authorLine } from './thread.js';

// The width of the line numbers and signs in front of the text, in pixels.
const GUTTER_PX = { unified: 118, split: 70 };
const MIN_SPLIT_PX = 900;
// The files after this many lines are rendered when they come near the window.
const FIRST_LINES = 400;
const SETTLED_PX = 40;
const SETTLE_MS = 60;
const SETTLE_TRIES = 10;

let charWidth = 0;

// Measures the width of a character of the diff's font.
function measure(container) {
  if (charWidth) return charWidth;
  const probe = h('code', { class: 'tx probe', 'aria-hidden': 'true' }, '0'.repeat(100));
  container.append(probe);
  charWidth = probe.getBoundingClientRect().width / 100 || 7.5;
  probe.remove();
  return charWidth;
}

// The comments on the whole change.
function summaries(reviews, version) {
  const shown = reviews.filter((review) => review.text || review.decision !== 'comment');
  return shown.length > 0 && h('ul', { class: 'panel review-list', 'aria-label': 'Reviews' }, shown.map((review) => h('li', { class: 'comment', data: { author: review.author_kind, decision: review.decision } }, authorLine(review, version), review.text && markdown(review.text))));
}

export class DiffView {
  // `context` has task, version (null: read only), drafts, reviews, mode, and loadFile(path).
  constructor(diff, context) {
    this.context = context;
    this.files = h('div', { class: 'files' });
    this.summaries = h('div', { class: 'slot' });
    this.progress = h('span', { class: 'num' });
    const shared = {
      task: context.task, version: context.version, drafts: context.drafts, mode: this.mode(),
      columns: () => this.columns(), commentsOf: (path) => this.comments.get(path) ?? [], loadFile: context.loadFile, onViewed: () => this.update(),
    };
    this.shared = shared;
    this.setReviews(context.reviews, false);
    let lines = 0;
    this.views = diff.files.map((file) => {
      const view = new FileView(file, shared, { deferred: lines > FIRST_LINES });
      lines += view.rowCount();
      return view;
    });
    this.files.append(...this.views.map((view) => view.node));
    this.tree = fileTree(diff.files, {
      state: (file) => {
        const view = this.views.find((entry) => entry.file.path === file.path);
        return { viewed: view?.viewed ?? false, comments: (this.comments.get(file.path)?.length ?? 0) + context.drafts.ofFile(file.path).length };
      },
      select: (file) => this.select(file.path),
    });
    const [added, removed] = ['added', 'removed'].map((side) => diff.files.reduce((sum, file) => sum + file[side], 0));
    this.node = diff.files.length === 0 ? emptyState('file', 'No changes') : h('div', { class: 'review' },
      h('aside', { class: 'review-side' },
        h('p', { class: 'small muted num' }, `${plural(diff.files.length, 'file')} · `, h('span', { class: 'plus' }, `+${added}`), ' ', h('span', { class: 'minus' }, `−${removed}`), ' · ', this.progress),
        this.tree.node),
      h('div', { class: 'review-main' }, this.summaries, diff.truncated && notice('warn', 'The change is too large to show completely. Each truncated file can be loaded.'), this.files));
    this.resizer = new ResizeObserver(() => this.onResize());
    this.resizer.observe(this.files);
    this.update();
  }

  // Two columns need space. Without it, the change is shown in one.
  mode() {
    return this.context.mode === 'split' && window.innerWidth >= MIN_SPLIT_PX ? 'split' : 'unified';
  }

  columns() {
    const width = this.files.clientWidth || 800;
    const mode = this.shared?.mode ?? 'unified';
    const text = mode === 'split' ? width / 2 - GUTTER_PX.split : width - (width < 560 ? 92 : GUTTER_PX.unified);
    return Math.max(10, Math.floor(text / measure(this.files)));
  }

  onResize() {
    const width = this.files.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    if (this.mode() !== this.shared.mode) this.setMode(this.context.mode);
    else for (const view of this.views) view.resize();
  }

  setMode(mode) {
    this.context.mode = mode;
    this.shared.mode = this.mode();
    for (const view of this.views) view.render();
  }

  setReviews(reviews, rerender = true) {
    this.comments = new Map();
    for (const review of reviews) {
      for (const comment of review.comments ?? []) this.comments.set(comment.path, [...(this.comments.get(comment.path) ?? []), { review, comment }]);
    }
    fill(this.summaries, summaries(reviews, this.context.version));
    if (!rerender) return;
    for (const view of this.views) view.render();
    this.update();
  }

  // Replaces the lines by the same lines with highlighting.
  setHighlighted(diff) {
    const byPath = new Map(diff.files.map((file) => [file.path, file]));
    for (const view of this.views) {
      const file = byPath.get(view.file.path);
      if (file && file.hunks.length === view.file.hunks.length && file.added === view.file.added) view.setFile(file);
    }
  }

  // Renders what depends on drafts and marks.
  update() {
    const viewed = this.views.filter((view) => view.viewed).length;
    setText(this.progress, `${viewed} of ${this.views.length} viewed`);
    this.tree.update();
  }

  onDrafts() {
    for (const view of this.views) view.render();
    this.update();
  }

  select(path) {
    const view = this.views.find((entry) => entry.file.path === path);
    if (!view) return;
    view.setOpen(true);
    view.wake();
    this.tree.highlight(path);
    view.toggle.focus({ preventScroll: true });
    // Files above it get their real height when they come near the window, which moves this one.
    const settle = (tries) => {
      view.node.scrollIntoView({ block: 'start' });
      if (tries > 0) setTimeout(() => Math.abs(view.node.getBoundingClientRect().top) > SETTLED_PX && settle(tries - 1), SETTLE_MS);
    };
    settle(SETTLE_TRIES);
  }

  remove() {
    this.resizer.disconnect();
    for (const view of this.views) view.remove();
  }
}
