// Two servers on one store, behind a balancer. The one that the page uses is killed, then the other one: the page reconnects and
// has every event once.

import { mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';

import { assert, assertEqual, test } from './harness.mjs';

const { WORLD } = process.env;

// Passes connections on to the first server that accepts them, as a balancer does.
class Balancer {
  constructor() {
    this.ports = [];
    this.accepted = new Map();
    this.server = createServer((client) => this.pass(client, [...this.ports]));
  }

  async listen() {
    await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
    return this.server.address().port;
  }

  pass(client, [port, ...others]) {
    client.on('error', () => {});
    if (port === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    let isOpen = false;
    upstream.once('connect', () => {
      isOpen = true;
      this.accepted.set(port, this.count(port) + 1);
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => {
      if (isOpen) client.destroy();
      else this.pass(client, others);
    });
    upstream.on('close', () => { if (isOpen) client.destroy(); });
    client.on('close', () => upstream.destroy());
  }

  count(port) {
    return this.accepted.get(port) ?? 0;
  }
}

await test(async ({ app, browser }) => {
  const balancer = new Balancer();
  const port = await balancer.listen();
  app.url = `http://127.0.0.1:${port}`;
  const created = await app.run('token', 'create', 'watcher', '--scope', 'read,work', '--json');
  const { token } = JSON.parse(created);
  app.token = () => token;

  // Each replica has a home directory of its own, as on two machines: they share the store alone.
  const homes = ['home', 'home2'];
  mkdirSync(`${WORLD}/home2`);
  const replicas = [];
  const start = async (number) => {
    const listen = `127.0.0.1:${balancer.ports[number] ?? 0}`;
    replicas[number] = app.spawn(['serve', '--no-worker', '--listen', listen, '--allow-host', `127.0.0.1:${port}`], homes[number]);
    const [, own] = await app.waitForLine(replicas[number], /ready at http:\/\/127\.0\.0\.1:(\d+)/);
    balancer.ports[number] = Number(own);
  };
  await start(0);
  await start(1);

  await app.run('task', 'add', 'Talk for a while');
  const page = await browser.open({ path: '/tasks/1' });
  page.monitor.expectOutage = true;
  await page.getByRole('button', { name: 'All events' }).click();
  const worker = app.spawn(['worker', '--once', '--concurrency', '1']);
  const rows = page.locator('.rows[data-show-all="true"] li');
  const waitForMore = async () => rows.nth((await rows.count()) + 15).waitFor();

  await waitForMore();
  assertEqual(balancer.count(balancer.ports[1]), 0, 'the page uses the first replica');
  await app.kill(replicas[0], 'SIGKILL');
  await waitForMore();
  assert(balancer.count(balancer.ports[1]) > 0, 'the page uses the second replica');
  assert(app.running.has(worker), 'the worker still runs');
  await start(0);
  const before = balancer.count(balancer.ports[0]);
  await app.kill(replicas[1], 'SIGKILL');
  await page.locator('.proof').waitFor();
  assert(balancer.count(balancer.ports[0]) > before, 'the page uses the first replica again');

  assert((await worker.ended).code === 0, 'the worker succeeded');
  const stored = (await app.taskLog(1)).map((event) => event.seq);
  await page.locator(`.rows li[data-seq="${stored.at(-1)}"]`).waitFor();
  const listed = await rows.evaluateAll((items) => items.map((item) => Number(item.dataset.seq)));
  assertEqual(listed, stored, 'the page has every event once, in order');
  balancer.server.close();
});
