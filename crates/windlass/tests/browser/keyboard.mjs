// Adds a task, inspects and merges it with the keyboard only.

import { assert, assertEqual, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.serve();
  const page = await browser.open();
  const { keyboard } = page;
  const focus = () => page.evaluate(() => document.activeElement?.getAttribute('name') ?? document.activeElement?.dataset.id ?? document.activeElement?.tagName);

  await keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
  await keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });

  await keyboard.press('n');
  assertEqual(await focus(), 'title', 'the first field has the focus');
  await keyboard.type('Greet n people, please?');
  await keyboard.press('Tab');
  assertEqual(await focus(), 'description', 'Tab moves to the next field');
  await keyboard.type('By keyboard.');
  await keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await keyboard.press('n');
  assertEqual(await page.getByLabel('Title').inputValue(), 'Greet n people, please?', 'the input is kept');
  await page.getByLabel('Title').press('Control+Enter');
  await page.locator('.card[data-id="1"]').waitFor();

  await keyboard.press('ArrowDown');
  assertEqual(await focus(), '1', 'an arrow key focuses the first card');
  // The card moves between columns while it is focused.
  await page.locator('[data-column="completed"] .card').waitFor();
  assertEqual(await focus(), '1', 'the card keeps the focus');
  await keyboard.press('Enter');
  await page.locator('.proof').waitFor();
  await keyboard.press('2');
  await page.locator('.dl.add').first().waitFor();
  await keyboard.press('3');
  await page.locator('.run').first().waitFor();
  await keyboard.press('m');
  await page.locator('dialog').getByRole('button', { name: 'Merge' }).waitFor();
  await keyboard.press('Enter');
  await page.locator('.toasts').getByText('into main').waitFor();
  await keyboard.press('g');
  await keyboard.press('i');
  await page.getByRole('heading', { name: 'Inbox is empty' }).waitFor();
  await keyboard.press('g');
  await keyboard.press('b');
  await page.locator('.board').waitFor();
  await keyboard.press('/');
  await keyboard.type('no such task');
  await page.locator('.card').waitFor({ state: 'detached' });
  await keyboard.press('Escape');
  await page.locator('.card').waitFor();
  await keyboard.press('Tab');
  assert(await page.evaluate(() => document.activeElement.matches(':focus-visible')), 'the focus is visible');
});
