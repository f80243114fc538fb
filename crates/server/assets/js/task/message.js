// The form for a message to the agent of a running task.

import { needsScope } from '../access.js';
import { api } from '../api.js';
import { h } from '../dom.js';
import { icon } from '../widgets/icon.js';
import { runAction, toast } from '../widgets/toast.js';

export function messageForm(id) {
  const text = needsScope('work', h('textarea', { class: 'input', rows: '1', required: true, maxlength: '16000', 'aria-label': 'Message to the agent', placeholder: 'Message to the agent' }));
  const button = needsScope('work', h('button', { class: 'button', type: 'submit' }, icon('comment'), 'Send'));
  const form = h('form', { class: 'message-form' }, text, button);
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    runAction(button, async () => {
      await api.sendMessage(id, text.value.trim());
      text.value = '';
      toast('good', 'The agent receives the message when its turn ends.');
    });
  });
  return { node: form, update: (task) => { form.hidden = task?.status !== 'in_progress'; } };
}
