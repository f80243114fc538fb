// Everything about adding a task and reading it, without a mouse.

import { check, same, test } from './world.mjs';

await test(async ({ world, browser }) => {
  await world.serve();
  const page = await browser.open();
  const { keyboard } = page;
  const focus = () => page.evaluate(() => document.activeElement?.getAttribute('name') ?? document.activeElement?.dataset.id ?? document.activeElement?.tagName);

  await keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard' }).waitFor();
  await keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });

  await keyboard.press('n');
  same(await focus(), 'title', 'the first field has the focus');
  await keyboard.type('Greet n people, please?');
  await keyboard.press('Tab');
  same(await focus(), 'description', 'the next field is next');
  await keyboard.type('By keyboard.');
  await keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await keyboard.press('n');
  same(await page.getByLabel('Title').inputValue(), 'Greet n people, please?', 'what was typed is kept');
  await page.getByLabel('Title').press('Control+Enter');
  await page.locator('.card[data-id="1"]').waitFor();

  await keyboard.press('ArrowDown');
  same(await focus(), '1', 'an arrow goes to the first card');
  // The card moves from column to column while it has the focus.
  await page.locator('[data-column="completed"] .card').waitFor();
  same(await focus(), '1', 'the focus went along');
  await keyboard.press('Enter');
  await page.locator('.proof').waitFor();
  await keyboard.press('2');
  await page.locator('.diff').waitFor();
  await keyboard.press('3');
  await page.locator('.run').first().waitFor();
  await keyboard.press('m');
  await page.locator('dialog').getByRole('button', { name: 'Merge' }).waitFor();
  await keyboard.press('Enter');
  await page.locator('.toasts').getByText('is in main').waitFor();
  await keyboard.press('g');
  await keyboard.press('i');
  await page.getByRole('heading', { name: 'Nobody waits for you' }).waitFor();
  await keyboard.press('g');
  await keyboard.press('b');
  await page.locator('.board').waitFor();
  await keyboard.press('/');
  await keyboard.type('no such task');
  await page.locator('.card').waitFor({ state: 'detached' });
  await keyboard.press('Escape');
  await page.locator('.card').waitFor();
  await keyboard.press('Tab');
  check(await page.evaluate(() => document.activeElement.matches(':focus-visible')), 'one can see where one is');
});
