// A task with many events opens with its newest ones, in one request, and shows older ones on request.

import { assert, assertEqual, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.run('task', 'add', 'Talk for long');
  await app.run('worker', '--once');
  const stored = (await app.taskLog(1)).map((event) => event.seq);
  assert(stored.length > 1100, `${stored.length} events are too few for this test`);
  await app.serve('--no-worker');
  const page = await browser.open();
  const requests = [];
  page.on('request', (request) => { if (request.url().includes('/tasks/1/events')) requests.push(request.url()); });
  await browser.navigate(page, '/tasks/1');
  await page.getByRole('button', { name: 'All events' }).click();
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  // One request for the newest events, and one that finds no newer ones.
  assert(requests.length <= 2, `${requests.length} requests: ${requests}`);

  const listed = () => page.locator('.rows[data-show-all="true"] li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));
  const older = page.getByRole('button', { name: /^Show .*earlier/ });
  let shown = await listed();
  while (shown.length < stored.length) {
    await older.click();
    const before = shown.length;
    await page.waitForFunction((count) => document.querySelectorAll('.rows li').length > count, before);
    shown = await listed();
  }
  assertEqual(shown, stored, 'every event once, in order');
  assert(await older.isHidden(), 'there is nothing earlier');
});
