// A blocked task asks a question; the answer given in the inbox reaches the agent, and the task ends with proof.

import { test } from './harness.mjs';

await test(async ({ app, browser }) => {
  await app.serve();
  await app.run('task', 'add', 'Greet the world');
  const page = await browser.open();
  await page.locator('.badge', { hasText: '1' }).waitFor();
  await page.locator('[data-column="blocked"] .card').waitFor();
  await page.getByRole('navigation').getByText('Inbox').click();
  const question = page.locator('[data-blocker]');
  await question.getByText('rounds of correction').waitFor();
  // The user's input is kept when new events arrive.
  await question.getByLabel('Answer').fill('Please write world in small letters.');
  await app.run('task', 'add', 'Another one', '--after', '1');
  await question.getByRole('button', { name: 'Answer' }).click();
  await question.waitFor({ state: 'detached' });
  await browser.navigate(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  await page.getByRole('tab', { name: 'Attempts' }).click();
  await page.getByRole('heading', { name: 'Attempt 2' }).waitFor();
  await page.locator('blockquote', { hasText: 'small letters' }).waitFor();
});
