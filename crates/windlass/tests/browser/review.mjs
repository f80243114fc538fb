// A review: comments on a line, requests changes, looks at the difference between the versions, approves and lands.
// REVIEW_WIDTH is the width of the window.

import { readFileSync } from 'node:fs';
import { audit } from './audit.mjs';
import { assert, assertEqual, screenshot, test, waitForLoaded } from './harness.mjs';

const WIDTH = Number(process.env.REVIEW_WIDTH ?? 1280);
// A title as long as a title can be.
const TITLE = 'Greet the world where no name is given, and leave every other greeting exactly as it is now, '.repeat(3).slice(0, 200);
const COMMENT = 'Say why the world is greeted.';

const shot = (page, name) => screenshot(page, `review-${name}-${WIDTH}`);

async function assertAccessible(page, where) {
  assertEqual(await page.evaluate(audit), [], `${where}, ${WIDTH} wide`);
}

// Opens the dialog, chooses a decision and submits.
async function submit(page, decision, text) {
  await page.locator('[data-action="review"]').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: decision }).check();
  if (text) await dialog.getByLabel('Comment on the whole change').fill(text);
  await shot(page, `dialog-${decision.split(' ')[0].toLowerCase()}`);
  await assertAccessible(page, 'the review dialog');
  await dialog.getByRole('button', { name: 'Submit review' }).click();
  await dialog.waitFor({ state: 'detached' });
}

await test(async ({ app, browser }) => {
  await app.serve();
  await app.run('task', 'add', TITLE, '--description', '`greet.sh` is called without a name.');
  const page = await browser.open({ width: WIDTH, height: 844 });
  await page.locator('[data-column="completed"] .card[data-id="1"]').waitFor();
  await browser.navigate(page, '/tasks/1/changes');
  await page.locator('.dl.add').waitFor();

  // The keyboard reaches a line, and Enter comments on it.
  await page.locator('.file-body').first().focus();
  await page.keyboard.press('ArrowDown');
  assert(await page.evaluate(() => document.activeElement.matches('button.ln')), 'an arrow key moves to a line');
  await page.locator('.dl.add button.ln').click();
  const form = page.getByLabel('Comment on line 3');
  await form.fill(COMMENT);
  // What was typed is kept while the page changes.
  await app.run('task', 'add', 'Another one', '--after', '1');
  assertEqual(await form.inputValue(), COMMENT, 'the text is kept');
  await form.press('Control+Enter');
  await page.locator('.comment.draft', { hasText: COMMENT }).waitFor();
  await assertAccessible(page, 'a draft');
  // The draft survives a reload.
  await page.reload();
  await page.locator('.comment.draft', { hasText: COMMENT }).waitFor();
  await shot(page, 'draft');
  await page.getByLabel('Viewed').check();
  await page.getByText('1 of 1 viewed').waitFor();
  await submit(page, 'Request changes', 'Almost.');

  // The agent gets the comment and makes another version.
  await page.locator('select[aria-label="Version"]').waitFor();
  await page.locator('.dl.add', { hasText: 'or the world if there is none' }).waitFor();
  assertEqual(await page.locator('.comment.draft').count(), 0, 'the draft was sent');
  await page.getByText('0 of 1 viewed').waitFor();
  await page.locator('.thread .comment', { hasText: COMMENT }).getByText('on version 1').waitFor();
  await page.locator('.review-list', { hasText: 'Almost.' }).waitFor();
  await shot(page, 'version-2');
  await assertAccessible(page, 'the second version');
  // The difference between the versions is what the comment was about.
  await page.getByLabel('Compared with').selectOption('1');
  await waitForLoaded(page);
  await page.locator('.dl.del', { hasText: '# Greets a person by name.' }).waitFor();
  assertEqual(await page.locator('.dl.add').count(), 1, 'only the new line differs');
  assertEqual(await page.locator('[data-action="review"]').count(), 0, 'a difference is not reviewed');
  await shot(page, 'difference');
  await page.getByLabel('Compared with').selectOption('');
  await page.locator('[data-action="review"]').waitFor();

  // A file that was viewed stays so, until it changes.
  await page.getByLabel('Viewed').check();
  await page.getByText('1 of 1 viewed').waitFor();
  await page.reload();
  await page.getByText('1 of 1 viewed').waitFor();

  await submit(page, 'Approve and land');
  await page.locator('.task-head .pill', { hasText: 'Landed' }).waitFor();
  const project = `${process.env.WORLD}/project/greet.sh`;
  assert(readFileSync(project, 'utf8').includes('or the world'), 'the checkout has the change');
  await shot(page, 'landed');
  await browser.navigate(page, '/');
  await page.locator('[data-column="completed"] .card[data-id="1"][data-landed="true"]').waitFor();
  await assertAccessible(page, 'the board');
  await browser.navigate(page, '/landings');
  await page.locator('.landing[data-state="landed"]').waitFor();
  await shot(page, 'queue');
  await assertAccessible(page, 'the landing queue');
});
