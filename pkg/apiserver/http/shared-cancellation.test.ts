import t from 'tap';
import { SharedCancellation } from '#apiserver/http/shared-cancellation.js';

void t.test('who listens hears of it once, and not any more when he has left', (t) => {
  const controller = new AbortController();
  const closing = new SharedCancellation(controller.signal);
  const heard: string[] = [];
  const left = () => heard.push('left');
  const listener = { handleEvent: () => heard.push('object') };
  closing.addEventListener('abort', () => heard.push('function'));
  closing.addEventListener('abort', left);
  closing.addEventListener('abort', listener);
  closing.addEventListener('abort', listener);
  closing.removeEventListener('abort', left);
  closing.throwIfAborted();
  t.equal(closing.aborted, false);
  const reason = new Error('closing');
  controller.abort(reason);
  t.same(heard, ['function', 'object']);
  t.equal(closing.aborted, true);
  t.equal(closing.reason, reason);
  t.throws(() => closing.throwIfAborted(), reason);
  t.end();
});
