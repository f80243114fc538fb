// A connection that drops, duplicates and delays messages: the page fetches the missing events and shows each once.

import { assert, assertEqual, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.serve('--no-worker');
  const page = await browser.open();
  const faults = { number: 0, dropped: 0, duplicated: 0, toPage: null };
  await page.routeWebSocket(/\/api\/v1\/ws/, (socket) => {
    const server = socket.connectToServer();
    faults.toPage = (message) => socket.send(JSON.stringify(message));
    server.onMessage((message) => {
      const { seq } = JSON.parse(message);
      faults.number += seq ? 1 : 0;
      if (seq && faults.number % 5 === 0) {
        faults.dropped += 1;
        return;
      }
      socket.send(message);
      if (seq && faults.number % 7 === 0) {
        faults.duplicated += 1;
        socket.send(message);
      }
    });
  });
  await page.reload();
  await page.locator('.connection[data-connection="live"]').waitFor();

  await app.run('task', 'add', 'Talk for a while');
  await browser.navigate(page, '/tasks/1');
  await page.getByRole('button', { name: 'All events' }).click();
  await app.run('worker', '--once');
  const stored = (await app.taskLog(1)).map((event) => event.seq);
  // The page cannot detect that the last message was dropped until it gets another one. Send a `lagged` message.
  faults.toPage({ type: 'lagged', from: 1, to: stored.at(-1) });
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  const listed = await page.locator('.rows[data-show-all="true"] li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));
  assertEqual(listed, stored, 'every event once, in order');
  assert(faults.dropped > 10 && faults.duplicated > 5, `${faults.dropped} dropped, ${faults.duplicated} duplicated`);
  await page.locator('.proof').waitFor();

  faults.toPage({ type: 'stale', reason: 'the disk is full' });
  await page.getByText('The server cannot reach its store: the disk is full').waitFor();
  faults.toPage({ type: 'fresh' });
  await page.getByText('The server cannot reach its store').waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Sign out' }).click();
  page.monitor.expectUnauthorized = true;
  await page.getByLabel('Link or token').waitFor();
});
