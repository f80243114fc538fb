// An agent requests permission to write a file; the user allows it in the dashboard; the file is written.

import { appendFileSync } from 'node:fs';
import { assert, assertEqual, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  const model = app.spawn(['model', '--script', `${process.env.WORLD}/model.json`]);
  const [, url] = await app.waitForLine(model, /listening on (http:\S+?);/);
  appendFileSync(`${process.env.WORLD}/named.toml`,
    `[agents.careful]\nbackend = "openai"\nendpoint = "${url}/v1"\nmodel = "m"\napi_key_env = "KEY"\npermissions = "ask"\n`);
  await app.serve();
  const page = await browser.open({ path: '/inbox' });
  await page.getByRole('heading', { name: 'Inbox is empty' }).waitFor();
  await app.run('task', 'add', 'Write it down', '--agent', 'careful');
  const request = page.locator('[data-approval]');
  await request.waitFor();
  const text = await request.innerText();
  assert(text.includes('done.txt') && text.includes('requests permission'), `the request shows the tool and its input: ${text}`);
  assert(await page.title().then((title) => title.startsWith('(1)')), 'the title of the page counts the request');
  assert(text.startsWith('#1 Write it down') && text.includes('careful requests'), `the request names the task and the agent: ${text}`);
  assert(/\d:\d\d left/.test(text), `the request says how much time is left: ${text}`);
  assertEqual(text.split('done.txt').length - 1, 1, `the path is shown once: ${text}`);
  assertEqual(await request.getByRole('button').first().innerText(), 'Allow once', 'the label does not depend on the agent');
  // The task waits for a person, not for the agent.
  await browser.navigate(page, '/');
  const card = page.locator('[data-column="blocked"] .card[data-needs-approval="true"]');
  await card.waitFor();
  assert((await card.innerText()).includes('requests permission: fs_write done.txt'), await card.innerText());
  const recent = page.locator('.recent li', { hasText: 'Needs approval' });
  const [pill, title] = await Promise.all([recent.locator('.pill').boundingBox(), recent.locator('a').boundingBox()]);
  assert(pill.x + pill.width <= title.x, 'the pill does not cover the title');
  await browser.navigate(page, '/inbox');
  await request.locator('[data-option="allow_once"]').click();
  await request.waitFor({ state: 'detached' });
  await browser.navigate(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  await page.locator('.item[data-kind="permission"]').waitFor();
});
