import t from 'tap';
import { LazyAbort, SharedCancellation } from '#apimachinery/cancellation.js';

void t.test('a listener is called once, and not after its removal', (t) => {
  const gone = new LazyAbort();
  const heard: string[] = [];
  const left = () => heard.push('left');
  const listener = { handleEvent: () => heard.push('object') };
  gone.addEventListener('abort', () => heard.push('function'));
  gone.addEventListener('abort', left);
  gone.addEventListener('abort', listener);
  gone.addEventListener('abort', listener);
  gone.removeEventListener('abort', left);
  gone.removeEventListener('abort', left);
  t.equal(gone.aborted, false);
  gone.throwIfAborted();
  const reason = new Error('gone');
  gone.abort(reason);
  gone.abort(new Error('again'));
  t.same(heard, ['function', 'object']);
  t.equal(gone.aborted, true);
  t.equal(gone.reason, reason);
  t.throws(() => gone.throwIfAborted(), reason);
  t.end();
});

void t.test('the signal aborts too, whenever it was created', (t) => {
  const [early, late] = [new LazyAbort(), new LazyAbort()];
  const { signal } = early;
  const reason = new Error('gone');
  early.abort(reason);
  late.abort(reason);
  t.equal(signal.aborted, true);
  t.equal(signal.reason, reason);
  t.equal(late.signal.reason, reason);
  t.end();
});

void t.test('a shared cancellation calls all listeners once', (t) => {
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
