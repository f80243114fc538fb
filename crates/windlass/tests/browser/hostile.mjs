// Text from agents, tests and files is shown as plain text: no markup, no scripts, no hidden characters, no requests.

import { assert, assertEqual, test, waitForLoaded } from './harness.mjs';

// Returns all text of the page, including tooltips and labels.
const pageText = (page) => page.evaluate(() => {
  const parts = [document.title, document.body.innerText, document.body.textContent];
  for (const node of document.querySelectorAll('*')) for (const { value } of node.attributes) parts.push(value);
  return parts.join('\n');
});

const openDetails = (page) => page.evaluate(async () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  await new Promise(requestAnimationFrame);
});

const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;

// The same cases as for the terminal (crates/core/src/escape.rs).
const TABLE = [
  ['plain\ttext\nnext', 'plain\ttext\nnext'],
  ['a\r\nb', 'a\nb'],
  ['over\rwritten', 'over\\u{d}written'],
  ['\u001b]52;c;aGk=\u0007', '\\u{1b}]52;c;aGk=\\u{7}'],
  ['\u009b31m', '\\u{9b}31m'],
  ['user\u202etxt.exe', 'user\\u{202e}txt.exe'],
  ['pass\u200bword', 'pass\\u{200b}word'],
  ['pass\u200dword', 'pass\\u{200d}word'],
  ['👩\u200d👧', '👩\u200d👧'],
  ['می\u200cخواهم', 'می\u200cخواهم'],
  ['\u{e0041}', '\\u{e0041}'],
];

await test(async ({ app, browser }) => {
  await app.serve();
  await app.run('task', 'add', '<img src=x onerror=pwn()> \u202etxt.exe \u001b[31mred', '--description', '<script>pwn()</script> ![x](http://elsewhere.invalid/x.png) [link](javascript:pwn())');
  const page = await browser.open();
  const escaped = await page.evaluate(async (texts) => {
    const { escapeControl } = await import('/js/text.js');
    return texts.map(escapeControl);
  }, TABLE.map(([text]) => text));
  assertEqual(escaped, TABLE.map(([, shown]) => shown), 'unsafe characters are escaped');
  await page.evaluate(() => { window.pwn = () => { window.pwned = true; }; });
  await page.locator('[data-column="completed"] .card, [data-column="blocked"] .card, [data-column="failed"] .card').first().waitFor();

  // A review by another client.
  const hostile = '<script>pwn()</script> \u202e **x** <img src=x onerror=pwn()>';
  const posted = await fetch(`${app.url}/api/v1/tasks/1/reviews`, {
    method: 'POST', headers: { authorization: `Bearer ${app.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ attempt: 1, decision: 'comment', text: hostile, comments: [{ path: 'done.txt', line: 1, side: 'new', text: hostile }] }),
  });
  assertEqual(posted.status, 200, 'the review is stored');

  for (const path of ['/', '/tasks/1', '/tasks/1/changes', '/tasks/1/tests', '/tasks/1/attempts', '/tasks/1/traces', '/inbox', '/goals', '/landings', '/projects', '/agents', '/traces', '/usage', '/evaluations']) {
    await browser.navigate(page, path);
    await waitForLoaded(page);
    await openDetails(page);
    const text = await pageText(page);
    assertEqual(text.match(UNSAFE)?.[0]?.codePointAt(0), undefined, `${path} has no unsafe characters`);
    assertEqual(await page.evaluate(() => [window.pwned, document.querySelectorAll('main script, main img, main a[href*="javascript"], main iframe, main [style*="url"]').length]), [null, 0], `${path} renders no injected elements`);
  }

  await browser.navigate(page, '/tasks/1/changes');
  for (const place of ['.review-list', '.thread']) assert((await page.locator(place).innerText()).includes('<script>pwn()</script> \\u{202e}'), `${place} shows the text of the review`);
  await browser.navigate(page, '/tasks/1');
  await page.locator('.proof').waitFor();
  await openDetails(page);
  const shown = await page.locator('body').innerText();
  for (const text of ['<img src=x onerror=pwn()>', '\\u{202e}txt.exe', '\\u{1b}[31mred', '<script>pwn()</script>', '\\u{1b}]52;c;aGk=\\u{7}', '<b>bold?</b>']) {
    assert(shown.includes(text), `${JSON.stringify(text)} is shown verbatim`);
  }
  assert((await page.title()).includes('Windlass'), 'the page keeps its title');
});
