// The progress of a goal, as a bar and as text.

import { h } from '../dom.js';

export function progressText({ total, done, landed, running, waiting, stopped }) {
  return [`${done} of ${total} done`, landed && `${landed} landed`, running && `${running} running`, waiting && `${waiting} needs input`, stopped && `${stopped} stopped`].filter(Boolean).join(' · ');
}

export function progressBar(progress) {
  const { total, done, landed, running, waiting, stopped } = progress;
  const part = (kind, n) => n > 0 && h('i', { class: kind, vars: { part: n } });
  const rest = total - done - running - waiting - stopped;
  return h('div', { class: 'bar goal-bar', role: 'img', 'aria-label': progressText(progress) },
    part('good', landed), part('done', done - landed), part('live', running), part('error', waiting), part('bad', stopped), part('', rest));
}
