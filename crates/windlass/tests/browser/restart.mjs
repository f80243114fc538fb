// The server is killed and restarted while a worker runs: the page reports the outage, then has every event once.

import { assert, assertEqual, test } from './harness.mjs';

// Returns the listed sequence numbers in page order.
const listed = (page) => page.locator('.rows[data-show-all="true"] li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));

await test(async ({ app, browser }) => {
  await app.serve('--no-worker');
  await app.run('task', 'add', 'Talk for a while');
  const page = await browser.open({ path: '/tasks/1' });
  page.monitor.expectOutage = true;
  await page.getByRole('button', { name: 'All events' }).click();
  const worker = app.spawn(['worker', '--once', '--concurrency', '1']);
  const waitForMore = (count) => page.locator('.rows[data-show-all="true"] li').nth(count).waitFor();

  for (const signal of ['SIGKILL', 'SIGTERM']) {
    await waitForMore((await listed(page)).length + 15);
    await app.kill(app.server, signal);
    await page.getByText('Disconnected from the server').waitFor();
    const before = (await app.taskLog(1)).length;
    let now = before;
    while (now < before + 15 && app.running.has(worker)) now = (await app.taskLog(1)).length;
    assert(now > before, 'events were stored while the server was down');
    await app.serve('--no-worker');
    await page.getByText('Disconnected from the server').waitFor({ state: 'hidden' });
  }

  await page.locator('.proof').waitFor();
  assert((await worker.ended).code === 0, 'the worker succeeded');
  const stored = (await app.taskLog(1)).map((event) => event.seq);
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  assertEqual(await listed(page), stored, 'the page has every event once, in order');

  // Reconnects after every single event.
  const all = await page.evaluate(async () => {
    const { Feed } = await import('/js/socket.js');
    const { api } = await import('/js/api.js');
    const { last_event: end } = await api.health();
    const seen = [];
    await new Promise((resolve) => {
      const feed = new Feed({
        fetchAfter: (n) => api.events(n),
        onEvent: (event) => {
          seen.push(event.seq);
          if (event.seq >= end) {
            feed.stop();
            resolve();
          } else {
            feed.reconnect();
          }
        },
        onStateChange: () => {},
        onHello: () => {},
        last: 0,
        initialBackoff: 0,
      });
      feed.start();
    });
    return seen;
  });
  assert(all.length > 100, `${all.length} events are too few for this test`);
  assertEqual(all, all.map((_, index) => index + 1), 'every event once, in order, with a reconnect after each');
});
