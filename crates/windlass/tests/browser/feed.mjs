// A connection that drops, doubles and holds back messages: the page asks for what is missing and shows each event once.

import { check, same, test } from './world.mjs';

await test(async ({ world, browser }) => {
  await world.serve('--no-worker');
  const page = await browser.open();
  const fault = { number: 0, dropped: 0, doubled: 0, toPage: null };
  await page.routeWebSocket(/\/api\/v1\/ws/, (socket) => {
    const server = socket.connectToServer();
    fault.toPage = (message) => socket.send(JSON.stringify(message));
    server.onMessage((message) => {
      const { seq } = JSON.parse(message);
      fault.number += seq ? 1 : 0;
      if (seq && fault.number % 5 === 0) {
        fault.dropped += 1;
        return;
      }
      socket.send(message);
      if (seq && fault.number % 7 === 0) {
        fault.doubled += 1;
        socket.send(message);
      }
    });
  });
  await page.reload();
  await page.locator('.link[data-link="live"]').waitFor();

  await world.run('task', 'add', 'Talk for a while');
  await browser.go(page, '/tasks/1');
  await page.getByRole('button', { name: 'Every event' }).click();
  await world.run('worker', '--once');
  const stored = (await world.log(1)).map((event) => event.seq);
  // Of what was dropped last nobody can know until the next message; that one is said to have been held back.
  fault.toPage({ type: 'lagged', from: 1, to: stored.at(-1) });
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  const listed = await page.locator('.rows[data-every="true"] li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));
  same(listed, stored, 'every event once, in order');
  check(fault.dropped > 10 && fault.doubled > 5, `${fault.dropped} dropped, ${fault.doubled} doubled`);
  await page.locator('.proof').waitFor();

  fault.toPage({ type: 'stale', reason: 'the disk is full' });
  await page.getByText('The server cannot reach its store: the disk is full').waitFor();
  fault.toPage({ type: 'fresh' });
  await page.getByText('The server cannot reach its store').waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Sign out' }).click();
  page.watched.expectRefusals = true;
  await page.getByLabel('Link or token').waitFor();
});
