// The change of a task, for review. The server sends the syntax highlighting.

import { api } from '../api.js';
import { fill, h } from '../dom.js';
import { bind } from '../keys.js';
import { reviewButton } from '../review/decide.js';
import { Drafts } from '../review/drafts.js';
import { DiffView } from '../review/view.js';
import { emptyState, loadInto } from '../widgets/common.js';
import { icon } from '../widgets/icon.js';

const MODE_KEY = 'windlass.diff-mode';

function storedMode() {
  try {
    return localStorage.getItem(MODE_KEY) === 'split' ? 'split' : 'unified';
  } catch {
    return 'unified';
  }
}

// The versions to choose from, the newest first: every attempt that has a change.
function versions(attempts) {
  const label = (attempt) => `Version ${attempt.number} (${attempt.outcome ?? 'running'})`;
  return attempts.filter((attempt) => attempt.commit).map((attempt) => ({ number: attempt.number, label: label(attempt) })).reverse();
}

class Changes {
  constructor({ id, task }) {
    this.id = id;
    this.task = task;
    this.mode = storedMode();
    this.node = h('div', { class: 'changes' });
    this.stops = [bind('d', () => this.setMode(this.mode === 'split' ? 'unified' : 'split')), bind('v', () => this.markViewed())];
    this.refresh();
  }

  refresh() {
    this.shownStatus = this.task()?.status;
    loadInto(this.node, () => Promise.all([api.attempts(this.id), api.reviews(this.id)]), ([attempts, reviews]) => {
      this.reviews = reviews;
      this.versions = versions(attempts);
      if (this.versions.length === 0 && !this.task()?.branch) {
        return emptyState('file', 'No changes yet', h('p', {}, 'The change of every attempt is shown here, also if the attempt fails. Your checkout is unchanged until you merge.'));
      }
      this.to = this.versions[0]?.number ?? null;
      this.from = null;
      this.body = h('div', { class: 'review-body' });
      this.bar = h('div', { class: 'review-bar' });
      this.show();
      return h('div', { class: 'stack' }, this.bar, this.body);
    });
  }

  // Two selects: what is compared, and with what.
  pickers() {
    if (this.versions.length < 2) return null;
    const option = (value, label, selected) => h('option', { value: String(value), selected }, label);
    const to = h('select', { class: 'input', 'aria-label': 'Version' }, this.versions.map(({ number, label }) => option(number, label, number === this.to)));
    const earlier = this.versions.filter(({ number }) => number < this.to);
    const from = h('select', { class: 'input', 'aria-label': 'Compared with' }, option('', 'compared with the base', this.from == null), earlier.map(({ number }) => option(number, `compared with version ${number}`, number === this.from)));
    to.addEventListener('change', () => {
      this.to = Number(to.value);
      if (this.from >= this.to) this.from = null;
      this.show();
    });
    from.addEventListener('change', () => {
      this.from = from.value ? Number(from.value) : null;
      this.show();
    });
    return [to, from];
  }

  modeButton() {
    const button = h('button', { class: 'button', type: 'button', 'aria-pressed': String(this.mode === 'split'), title: 'Side by side (d)', data: { action: 'split' } }, icon('split'), 'Side by side');
    button.addEventListener('click', () => this.setMode(this.mode === 'split' ? 'unified' : 'split'));
    this.updateMode = () => button.setAttribute('aria-pressed', String(this.mode === 'split'));
    return button;
  }

  setMode(mode) {
    this.mode = mode;
    try {
      localStorage.setItem(MODE_KEY, mode);
    } catch {
      // Without storage, the choice applies to this page only.
    }
    this.view?.setMode(mode);
    this.updateMode?.();
  }

  // Marks the file at the top of the window as viewed.
  markViewed() {
    const view = this.view?.views.find((entry) => entry.node.getBoundingClientRect().bottom > 120);
    view?.setViewed(!view.viewed);
  }

  query() {
    if (this.from != null) return { from: this.from, to: this.to };
    // The newest version of a completed task is what its branch has.
    return this.to == null ? {} : { attempt: this.to };
  }

  show() {
    const query = this.query();
    const current = this.task();
    // A review is of the newest version as a whole. Older ones are read only.
    const reviewable = current?.status === 'completed' && this.from == null && this.to === this.versions[0]?.number && this.to != null;
    const drafts = new Drafts(this.id, this.to);
    const button = reviewable && reviewButton({ current: this.task, version: this.to, drafts, onDone: () => this.refresh() });
    fill(this.bar, this.pickers(), h('span', { class: 'space' }), this.modeButton(), button?.node);
    this.view?.remove();
    fill(this.body);
    const load = () => api.diff(this.id, { ...query, highlight: false });
    const started = performance.now();
    loadInto(this.body, load, (diff) => {
      const loaded = performance.now();
      requestAnimationFrame(() => {
        performance.measure('windlass.diff', { start: started });
        performance.measure('windlass.diff-render', { start: loaded });
      });
      const view = new DiffView(diff, {
        task: this.id, version: reviewable ? this.to : null, drafts, reviews: this.reviews, mode: this.mode,
        loadFile: async (path) => (await api.diff(this.id, { ...query, path })).files[0],
      });
      this.view = view;
      drafts.onChange(() => {
        view.onDrafts();
        button?.update();
      });
      this.highlight(view, query);
      return view.node;
    });
  }

  // Highlighting takes longer than showing the change, so it follows.
  highlight(view, query) {
    api.diff(this.id, query).then((diff) => this.view === view && view.setHighlighted(diff)).catch(() => {});
  }

  // Shows the reviews of other people as they arrive.
  async onReview() {
    if (!this.view) return;
    this.reviews = await api.reviews(this.id);
    this.view.setReviews(this.reviews);
  }

  leave() {
    this.view?.remove();
    for (const stop of this.stops) stop();
  }
}

export function changes(page) {
  const view = new Changes(page);
  return {
    node: view.node,
    // A change under review stays in place while events arrive; a new status may bring a new version.
    refresh: () => (!view.view || page.task()?.status !== view.shownStatus) && view.refresh(),
    onReview: () => view.onReview().catch(() => {}),
    leave: () => view.leave(),
  };
}
