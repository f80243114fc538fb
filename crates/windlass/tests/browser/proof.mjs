// Adds a task and watches it run to proof; then looks at everything that it left, and merges it.

import { readFileSync } from 'node:fs';
import { check, same, test } from './world.mjs';

await test(async ({ world, browser }) => {
  await world.serve();
  const page = await browser.open();
  same(await page.evaluate(() => [location.hash, document.cookie]), ['#/', ''], 'the token is gone from the address, and no script can read it');
  await page.getByRole('heading', { name: 'Nothing in the queue' }).waitFor();

  await page.getByRole('button', { name: 'New task' }).first().click();
  await page.getByLabel('Title').fill('Greet the world where no name is given');
  await page.getByLabel('Description').fill('`greet.sh` prints `Hello, !` when it is called without a name.');
  await page.getByRole('button', { name: 'Add task' }).click();
  await page.locator('.card[data-id="1"]').click();

  // All of this appears by itself, as it happens.
  await page.locator('.proof').waitFor();
  await page.locator('.stages li[data-state="proof"]').waitFor();
  const story = page.locator('.timeline');
  for (const words of ['A default for the missing name will do.', 'Correction 1 of 3', '2 of 3 passed', '3 of 3 passed']) {
    await story.getByText(words).first().waitFor();
  }
  const tool = story.locator('.item[data-kind="tool"]').first();
  await tool.locator('summary').click();
  check((await tool.innerText()).includes('${1:-World}'), 'an edit shows what was put in');

  const tab = (name) => page.getByRole('tab', { name }).click();
  await tab('Changes');
  check((await page.locator('.diff tr.add').innerText()).includes('Hello, ${1:-world}!'), 'the change is shown');
  check(await page.locator('.diff [class^="s-"]').count() > 0, 'code has colours');
  await tab('Tests');
  await page.locator('.run').nth(1).waitFor();
  same(await page.locator('.run summary .pill').allInnerTexts(), ['passed', 'failed'], 'both runs, newest first');
  await tab('Attempts');
  await page.locator('.round', { hasText: 'Correction 1' }).waitFor();
  await tab('Traces');
  await page.locator('.trace-row').first().click();
  // The fourth step: the waterfall is drawn after the click.
  await page.locator('.step').nth(3).waitFor();

  await browser.go(page, '/tasks/1');
  await page.getByRole('button', { name: 'Merge' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Merge' }).click();
  await page.locator('.toasts').getByText('is in main').waitFor();
  check(readFileSync(`${process.env.WORLD}/project/greet.sh`, 'utf8').includes('${1:-world}'), 'the checkout has it now');

  await browser.go(page, '/agents');
  await page.locator('.agent[data-health="ok"]', { hasText: 'player' }).waitFor();
  await browser.go(page, '/usage');
  await page.locator('.figure').first().waitFor();
  await browser.go(page, '/');
  await page.locator('[data-column="completed"] .card[data-id="1"]').waitFor();
});
