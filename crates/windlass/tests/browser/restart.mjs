// The server dies and comes back while a worker goes on: the page says so, catches up, and has every event once.

import { check, same, test } from './world.mjs';

// The numbers that the page lists, in the order in which it lists them.
const listed = (page) => page.locator('.rows[data-every="true"] li').evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));

await test(async ({ world, browser }) => {
  await world.serve('--no-worker');
  await world.run('task', 'add', 'Talk for a while');
  const page = await browser.open({ path: '/tasks/1' });
  page.watched.expectOutage = true;
  await page.getByRole('button', { name: 'Every event' }).click();
  const worker = world.spawn(['worker', '--once', '--concurrency', '1']);
  const more = (than) => page.locator('.rows[data-every="true"] li').nth(than).waitFor();

  for (const signal of ['SIGKILL', 'SIGTERM']) {
    await more((await listed(page)).length + 15);
    await world.kill(world.server, signal);
    await page.getByText('Disconnected from the server').waitFor();
    const before = (await world.log(1)).length;
    let now = before;
    while (now < before + 15 && world.running.has(worker)) now = (await world.log(1)).length;
    check(now > before, 'something happened while the server was away');
    await world.serve('--no-worker');
    await page.getByText('Disconnected from the server').waitFor({ state: 'hidden' });
  }

  await page.locator('.proof').waitFor();
  check((await worker.ended).code === 0, 'the worker ended well');
  const stored = (await world.log(1)).map((event) => event.seq);
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  same(await listed(page), stored, 'the page has every event once, in order');

  // Cut at every single event.
  const all = await page.evaluate(async () => {
    const { Feed } = await import('/js/socket.js');
    const { api } = await import('/js/api.js');
    const { last_event: end } = await api.health();
    const seen = [];
    await new Promise((resolve) => {
      const feed = new Feed({
        fetchAfter: (n) => api.events(n),
        hear: (event) => {
          seen.push(event.seq);
          if (event.seq >= end) {
            feed.stop();
            resolve();
          } else {
            feed.again();
          }
        },
        tell: () => {},
        greet: () => {},
        last: 0,
        firstPause: 0,
      });
      feed.start();
    });
    return seen;
  });
  check(all.length > 100, `there were ${all.length} events to cut at`);
  same(all, all.map((_, at) => at + 1), 'every event once, in order, though each one cut the connection');
});
