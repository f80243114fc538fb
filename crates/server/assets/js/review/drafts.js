// The comments of a review that is not submitted yet. They are in the browser's storage.

const PREFIX = 'windlass.review.';

export class Drafts {
  constructor(task, version) {
    this.key = `${PREFIX}${task}.${version}`;
    this.listeners = new Set();
    this.comments = [];
    try {
      const stored = JSON.parse(localStorage.getItem(this.key) ?? '[]');
      if (Array.isArray(stored)) this.comments = stored.filter((entry) => typeof entry?.text === 'string' && typeof entry.path === 'string');
    } catch {
      // No storage, or something else under this name: no drafts.
    }
  }

  onChange(callback) {
    this.listeners.add(callback);
  }

  save() {
    try {
      if (this.comments.length) localStorage.setItem(this.key, JSON.stringify(this.comments));
      else localStorage.removeItem(this.key);
    } catch {
      // Without storage, the drafts live as long as the page.
    }
    for (const callback of this.listeners) callback();
  }

  // Adds a comment: `{ path, line, side, text }`, without a line for the whole file.
  add(comment) {
    this.comments.push(comment);
    this.save();
  }

  remove(comment) {
    this.comments = this.comments.filter((entry) => entry !== comment);
    this.save();
  }

  ofFile(path) {
    return this.comments.filter((entry) => entry.path === path);
  }

  clear() {
    this.comments = [];
    this.save();
  }
}
