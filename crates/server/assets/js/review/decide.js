// Submits a review: the comment on the whole, the comments on lines, and the decision.

import { missingScope, needsScope } from '../access.js';
import { api } from '../api.js';
import { fill, h, setText } from '../dom.js';
import { putTask, refreshTask } from '../store.js';
import { plural } from '../text.js';
import { notice } from '../widgets/common.js';
import { dialog } from '../widgets/dialog.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

const CHOICES = [
  { value: 'comment', label: 'Comment', note: 'Only leaves the comments.' },
  { value: 'approve', label: 'Approve', note: 'The change is good.' },
  { value: 'land', label: 'Approve and land', note: 'The change is good, and is landed when it passes on the current target.' },
  { value: 'request_changes', label: 'Request changes', note: 'The agent works on it again, on top of its change, with your comments.' },
];

const DONE = { comment: 'Your comments were added.', approve: 'Approved.', land: 'Approved, and queued for landing.', request_changes: 'Changes requested. The task is worked on again.' };

function choiceList(task, comments) {
  // Without the scope to decide, a person can still comment.
  const decides = !missingScope('approve');
  const usable = ({ value }) => value === 'comment' || (decides && (!task.landed || value === 'approve'));
  const first = !decides ? 'comment' : comments > 0 && !task.landed ? 'request_changes' : 'approve';
  return h('fieldset', { class: 'choices' }, h('legend', { class: 'sr-only' }, 'Decision'), CHOICES.filter(usable).map((choice) => h('label', { class: 'choice' },
    h('input', { type: 'radio', name: 'decision', value: choice.value, checked: choice.value === first }),
    h('span', {}, h('b', {}, choice.label), h('span', { class: 'muted small' }, choice.note)))));
}

function reviewDialog({ task, version, drafts, onDone }) {
  const { comments } = drafts;
  let stored = false;
  const problem = h('div', { 'aria-live': 'assertive' });
  const text = h('textarea', { class: 'input', name: 'text', rows: '4', maxlength: '16000', 'aria-label': 'Comment on the whole change', placeholder: 'Comment on the whole change (optional)' });
  const button = h('button', { class: 'button main', type: 'submit' }, 'Submit review');
  const form = h('form', { class: 'fields' },
    h('p', { class: 'small muted' }, `Version ${version} · ${comments.length ? plural(comments.length, 'comment') : 'no comments'} on lines and files`),
    text, choiceList(task, comments.length), problem, h('footer', {}, button));
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    fill(problem);
    runAction(button, async () => {
      const choice = new FormData(form).get('decision');
      try {
        // What was stored stays stored if landing is refused: then only that is repeated.
        if (!stored) putTask((await api.review(task.id, { attempt: version, decision: choice === 'land' ? 'approve' : choice, text: text.value.trim(), comments })).task);
        stored = true;
        drafts.clear();
        if (choice === 'land') await api.land(task.id);
        refreshTask(task.id);
        node.close();
        toast('good', DONE[choice]);
        onDone();
      } catch (error) {
        fill(problem, notice('bad', error.message));
      }
    });
  });
  const node = dialog(`Review task ${task.id}`, form);
  text.focus();
}

// The button that opens the dialog, with the number of comments that are not sent yet.
export function reviewButton(review) {
  const number = h('span', { class: 'badge', hidden: true });
  const button = needsScope(missingScope('approve') ? 'work' : 'approve', h('button', { class: 'button main', type: 'button', data: { action: 'review' } }, icon('seal'), 'Review', number));
  button.addEventListener('click', () => reviewDialog({ ...review, task: review.current() }));
  const update = () => {
    const { length } = review.drafts.comments;
    number.hidden = length === 0;
    setText(number, String(length));
  };
  update();
  return { node: button, update };
}
