// Which files the user has viewed, by task, path and content: a file that changes is not viewed any more.

const PREFIX = 'windlass.viewed.';
const MAX_FILES = 2000;

function read(task) {
  try {
    const stored = JSON.parse(localStorage.getItem(PREFIX + task) ?? '{}');
    return stored && typeof stored === 'object' ? stored : {};
  } catch {
    return {};
  }
}

// `hash()` is called only if the file was viewed before.
export function isViewed(task, path, hash) {
  const known = read(task)[path];
  return known != null && known === hash();
}

export function setViewed(task, path, hash, viewed) {
  const stored = read(task);
  delete stored[path];
  if (viewed) stored[path] = hash;
  const kept = Object.fromEntries(Object.entries(stored).slice(-MAX_FILES));
  try {
    localStorage.setItem(PREFIX + task, JSON.stringify(kept));
  } catch {
    // Without storage, the marks apply to this page only.
  }
}
