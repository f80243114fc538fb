// A list of rows of which only those near the window exist. The rows before and after them are two spacers; their
// height is estimated from the number of wrapped lines.

const OVERSCAN_PX = 900;
// Rows come and go in chunks, so that scrolling does not change the page for every row.
const CHUNK = 32;
// A shorter list exists completely once it was near the window, so that the browser's search finds it.
const KEEP_ROWS = 160;

const active = new Set();
let frame = null;

function updateAll() {
  frame = null;
  // Reads all positions before it changes anything.
  const boxes = [...active].map((list) => [list, list.node.getBoundingClientRect().top]);
  for (const [list, top] of boxes) list.update(top);
}

function schedule() {
  frame ??= requestAnimationFrame(updateAll);
}

window.addEventListener('scroll', schedule, { passive: true });

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const list = target.virtualList;
    // An entry may arrive after the list was removed.
    if (isIntersecting && target.isConnected) active.add(list);
    else if (active.delete(list)) list.release();
  }
  schedule();
}, { rootMargin: `${OVERSCAN_PX}px 0px` });

export class VirtualList {
  // `heights` has the estimated height of each row in pixels. `render(index)` returns the element of a row.
  constructor(heights, render) {
    this.render = render;
    this.rows = new Map();
    this.range = [0, 0];
    this.node = document.createElement('div');
    this.node.className = 'lines';
    this.node.virtualList = this;
    this.before = this.node.appendChild(document.createElement('div'));
    this.after = this.node.appendChild(document.createElement('div'));
    this.setHeights(heights);
    observer.observe(this.node);
  }

  setHeights(heights) {
    this.offsets = new Float64Array(heights.length + 1);
    for (let index = 0; index < heights.length; index += 1) this.offsets[index + 1] = this.offsets[index] + heights[index];
    this.show(...this.range);
  }

  get length() {
    return this.offsets.length - 1;
  }

  // Returns the row at a vertical position.
  rowAt(y) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.offsets[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  update(top) {
    if (this.length <= KEEP_ROWS) {
      this.show(0, this.length);
      return;
    }
    const first = this.rowAt(-top - OVERSCAN_PX);
    const last = this.rowAt(window.innerHeight - top + OVERSCAN_PX) + 1;
    this.show(first - (first % CHUNK), Math.min(this.length, last + CHUNK - (last % CHUNK)));
  }

  show(first, last) {
    const [start, end] = [Math.min(first, this.length), Math.min(last, this.length)];
    for (const [index, row] of this.rows) {
      // The row with the focus stays, so that the keyboard does not lose the focus.
      if ((index < start || index >= end) && !row.contains(document.activeElement)) {
        row.remove();
        this.rows.delete(index);
      }
    }
    const fragment = document.createDocumentFragment();
    // A row that stays although it is out of range keeps its position.
    const later = Math.min(...[...this.rows.keys()].filter((index) => index >= end));
    let anchor = this.rows.get(later) ?? this.after;
    const insert = () => {
      if (fragment.childNodes.length) this.node.insertBefore(fragment, anchor);
    };
    for (let index = end - 1; index >= start; index -= 1) {
      const known = this.rows.get(index);
      if (known) {
        insert();
        anchor = known;
      } else {
        const row = this.render(index);
        this.rows.set(index, row);
        fragment.prepend(row);
      }
    }
    insert();
    this.range = [start, end];
    this.before.style.setProperty('--height', `${this.offsets[start]}px`);
    this.after.style.setProperty('--height', `${this.offsets[this.length] - this.offsets[end]}px`);
  }

  // Renders the rows again, after their content has changed.
  refresh() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.show(...this.range);
  }

  // Called when the list is far from the window.
  release() {
    if (this.length > KEEP_ROWS) this.show(0, 0);
  }

  remove() {
    observer.unobserve(this.node);
    active.delete(this);
    this.node.remove();
  }
}
