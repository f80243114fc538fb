// An agent asks whether it may write a file; a person decides in the dashboard; the file is written.

import { appendFileSync } from 'node:fs';
import { check, test } from './world.mjs';

await test(async ({ world, browser }) => {
  const model = world.spawn(['model', '--script', `${process.env.WORLD}/model.json`]);
  const [, url] = await world.line(model, /listening on (http:\S+?);/);
  appendFileSync(`${process.env.WORLD}/named.toml`,
    `[agents.careful]\nbackend = "openai"\nendpoint = "${url}/v1"\nmodel = "m"\napi_key_env = "KEY"\npermissions = "ask"\n`);
  await world.serve();
  const page = await browser.open({ path: '/inbox' });
  await page.getByRole('heading', { name: 'Nobody waits for you' }).waitFor();
  await world.run('task', 'add', 'Write it down', '--agent', 'careful');
  const request = page.locator('[data-approval]');
  await request.waitFor();
  const words = await request.innerText();
  check(words.includes('done.txt') && words.includes('asks whether it may'), `it says what is asked: ${words}`);
  check(await page.title().then((title) => title.startsWith('(1)')), 'the tab says that somebody waits');
  check(words.startsWith('#1 Write it down') && words.includes('careful asks'), `it says who asks: ${words}`);
  // On the board the task does not look busy while it waits for a person.
  await browser.go(page, '/');
  const card = page.locator('[data-column="in_progress"] .card[data-waits="true"]');
  await card.waitFor();
  check((await card.innerText()).includes('asks whether it may: fs_write done.txt'), await card.innerText());
  const lately = page.locator('.lately li', { hasText: 'Asks you' });
  const [pill, title] = await Promise.all([lately.locator('.pill').boundingBox(), lately.locator('a').boundingBox()]);
  check(pill.x + pill.width <= title.x, 'the words beside it are not covered');
  await browser.go(page, '/inbox');
  await request.locator('[data-option="allow_once"]').click();
  await request.waitFor({ state: 'detached' });
  await browser.go(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  await page.locator('.item[data-kind="permission"]').waitFor();
});
