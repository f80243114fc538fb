// Where it begins: the token, the frame, the feed, the views.

import { ApiError, api, whenLocked } from './api.js';
import { listenToKeys } from './keys.js';
import { route } from './router.js';
import { frame } from './shell.js';
import { Feed } from './socket.js';
import { changed, hear, load, loadHealth, setLink, state } from './store.js';
import { agents } from './views/agents.js';
import { board } from './views/board.js';
import { inbox } from './views/inbox.js';
import { gate } from './views/gate.js';
import { task } from './views/task.js';
import { trace } from './views/trace.js';
import { traces } from './views/traces.js';
import { usage } from './views/usage.js';
import { keepTime } from './widgets/bits.js';

const CHECK = 20_000;

route('/', board);
route('/new', board);
route('/tasks/#id', task);
route('/tasks/#id/:tab', task);
route('/inbox', inbox);
route('/agents', agents);
route('/traces', traces);
route('/traces/:id', trace);
route('/usage', usage);

// The printed link carries the token behind the #, where no server log sees it. It is traded for a cookie and dropped.
async function takeToken() {
  const found = location.hash.match(/^#token=(.+)$/);
  if (!found) return;
  history.replaceState(null, '', `${location.pathname}#/`);
  await api.enter(decodeURIComponent(found[1]));
}

let greeted = false;

const feed = new Feed({
  fetchAfter: (n) => api.events(n),
  hear,
  tell: (link, reason) => {
    setLink(link, reason);
    if (link === 'down') loadHealth().catch(() => {});
  },
  greet: (fresh) => {
    // Another store than before: nothing that is on the page is true there.
    if (fresh && greeted) location.reload();
    if (fresh) load();
    greeted = true;
    loadHealth().catch(() => {});
    changed('greet');
  },
});

function stayConnected() {
  feed.start();
  window.addEventListener('online', () => feed.now());
  document.addEventListener('visibilitychange', () => document.hidden || feed.now());
  // A connection can look open long after the other end is gone; the server's own word settles it.
  setInterval(async () => {
    if (document.hidden || state.link !== 'live') return;
    try {
      const health = await loadHealth();
      if (health.last_event > feed.last) feed.catchUp();
    } catch (error) {
      if (error.status === 0) feed.again();
    }
  }, CHECK);
}

let locked = false;

function lock(words) {
  if (locked) return;
  locked = true;
  feed.stop();
  gate(words, () => location.reload());
}

async function begin() {
  listenToKeys();
  keepTime();
  let words = null;
  try {
    await takeToken();
  } catch (error) {
    words = error.status === 401 ? 'That link is not valid any more.' : error.message;
  }
  whenLocked(() => lock(words));
  try {
    await loadHealth();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    setLink('down');
  }
  frame(() => feed.now());
  await load();
  stayConnected();
}

begin();
