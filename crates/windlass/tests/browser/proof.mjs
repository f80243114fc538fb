// Adds a task and follows it until it is verified; then checks all its tabs, and merges it.

import { readFileSync } from 'node:fs';
import { assert, assertEqual, test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.serve();
  const page = await browser.open();
  assertEqual(await page.evaluate(() => [location.hash, document.cookie]), ['#/', ''], 'the token is removed from the address, and scripts cannot read the cookie');
  await page.getByRole('heading', { name: 'No tasks yet' }).waitFor();

  await page.getByRole('button', { name: 'New task' }).first().click();
  await page.getByLabel('Title').fill('Greet the world where no name is given');
  await page.getByLabel('Description').fill('`greet.sh` prints `Hello, !` when it is called without a name.');
  await page.getByRole('button', { name: 'Add task' }).click();
  await page.locator('.card[data-id="1"]').click();

  // All of this appears without a reload.
  await page.locator('.proof').waitFor();
  await page.locator('.stages li[data-state="proof"]').waitFor();
  const timeline = page.locator('.timeline');
  for (const text of ['A default for the missing name will do.', 'Correction 1 of 3', '2 of 3 passed', '3 of 3 passed']) {
    await timeline.getByText(text).first().waitFor();
  }
  const tool = timeline.locator('.item[data-kind="tool"]').first();
  await tool.locator('summary').click();
  // The details of an edit are drawn when they are opened.
  await tool.getByText('${1:-World}').first().waitFor();

  const tab = (name) => page.getByRole('tab', { name }).click();
  await tab('Changes');
  assert((await page.locator('.dl.add').innerText()).includes('Hello, ${1:-world}!'), 'the change is shown');
  // The highlighting follows the lines.
  await page.locator('.dl [class^="s-"]').first().waitFor();
  await tab('Tests');
  await page.locator('.run').nth(1).waitFor();
  assertEqual(await page.locator('.run summary .pill').allInnerTexts(), ['passed', 'failed'], 'both runs, newest first');
  await tab('Attempts');
  await page.locator('.round', { hasText: 'Correction 1' }).waitFor();
  await tab('Traces');
  await page.locator('.trace-row').first().click();
  // The waterfall has more than three steps.
  await page.locator('.step').nth(3).waitFor();

  await browser.navigate(page, '/tasks/1');
  await page.getByRole('button', { name: 'Merge' }).click();
  const dialogText = await page.locator('dialog').innerText();
  assert(dialogText.includes('main') && dialogText.includes('1 file'), `the dialog names the branch and the files: ${dialogText}`);
  await page.locator('dialog').getByRole('button', { name: 'Merge' }).click();
  await page.locator('.toasts').getByText('into main').waitFor();
  assert(readFileSync(`${process.env.WORLD}/project/greet.sh`, 'utf8').includes('${1:-world}'), 'the checkout has the change');

  await browser.navigate(page, '/agents');
  await page.locator('.agent[data-health="ok"]', { hasText: 'player' }).waitFor();
  await page.locator('.workers tbody tr', { hasText: 'active' }).first().waitFor();
  await browser.navigate(page, '/usage');
  await page.locator('.figure').first().waitFor();
  await browser.navigate(page, '/');
  await page.locator('[data-column="completed"] .card[data-id="1"]').waitFor();
});
