// Entry point: signs in, mounts the shell, registers the views and starts the feed.

import { loadSession, missingScope } from './access.js';
import { api, ApiError, onUnauthorized } from './api.js';
import { listenToKeys } from './keys.js';
import { route } from './router.js';
import { mountShell } from './shell.js';
import { Feed } from './socket.js';
import { applyEvent, load, loadHealth, notify, setConnection, state } from './store.js';
import { agents } from './views/agents.js';
import { board } from './views/board.js';
import { evaluations } from './views/evaluations.js';
import { goal } from './views/goal.js';
import { goals } from './views/goals.js';
import { inbox } from './views/inbox.js';
import { landings } from './views/landings.js';
import { loginPage } from './views/login.js';
import { projects } from './views/projects.js';
import { task } from './views/task.js';
import { trace } from './views/trace.js';
import { traces } from './views/traces.js';
import { usage } from './views/usage.js';
import { startTimeUpdates } from './widgets/common.js';

const HEALTH_CHECK_MS = 20_000;

route('/', board);
route('/new', board);
route('/tasks/#id', task);
route('/tasks/#id/:tab', task);
route('/goals', goals);
route('/goals/#id', goal);
route('/inbox', inbox);
route('/landings', landings);
route('/agents', agents);
route('/traces', traces);
route('/traces/:id', trace);
route('/usage', usage);
route('/evaluations', evaluations);
route('/projects', projects);

// The printed link has the token in its fragment, which is not sent to servers and so never logged. The token is
// exchanged for a cookie and removed from the address.
async function exchangeToken() {
  const found = location.hash.match(/^#token=(.+)$/);
  if (!found) return;
  history.replaceState(null, '', `${location.pathname}#/`);
  await api.login(decodeURIComponent(found[1]));
}

let helloReceived = false;

const feed = new Feed({
  fetchAfter: (n) => api.events(n),
  onEvent: applyEvent,
  onStateChange: (connection, reason) => {
    setConnection(connection, reason);
    if (connection === 'down') loadHealth().catch(() => {});
  },
  onHello: (fresh) => {
    // The server uses another store than before: everything on the page is outdated.
    if (fresh && helloReceived) location.reload();
    if (fresh) load();
    helloReceived = true;
    loadHealth().catch(() => {});
    notify('hello');
  },
});

function startFeed() {
  feed.start();
  window.addEventListener('online', () => feed.reconnectNow());
  document.addEventListener('visibilitychange', () => document.hidden || feed.reconnectNow());
  // A connection can look open long after the server is gone. A health request detects that.
  setInterval(async () => {
    if (document.hidden || state.connection !== 'live') return;
    try {
      const health = await loadHealth();
      if (health.last_event > feed.last) feed.catchUp();
    } catch (error) {
      if (error.status === 0) feed.reconnect();
    }
  }, HEALTH_CHECK_MS);
}

let loginShown = false;

function showLogin(message) {
  if (loginShown) return;
  loginShown = true;
  feed.stop();
  loginPage(message, () => location.reload());
}

async function start() {
  listenToKeys();
  startTimeUpdates();
  let message = null;
  try {
    await exchangeToken();
  } catch (error) {
    message = error.status === 401 ? 'The link is no longer valid.' : error.message;
  }
  onUnauthorized(() => showLogin(message));
  try {
    await loadSession();
    if (missingScope('read')) {
      showLogin(`${missingScope('read')} The dashboard needs it: sign in with another token.`);
      return;
    }
    await loadHealth();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    setConnection('down');
  }
  mountShell(() => feed.reconnectNow());
  await load();
  startFeed();
}

start();
