/** What a response holds after the request's work is done. */
import type { Clock } from '#apimachinery/clock.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { LongBody } from '#http/server/body.js';

/** Longest time that a response being sent keeps its seats. */
const maxSendingMs = 5000;

/**
 * Frees the seats when the response is sent. A client that reads slowly keeps memory of its level, but not for long the
 * seats that other clients wait for.
 */
export function holdSeats(
  context: RequestContext,
  held: { readonly response: ApiResponse; readonly free: () => void; readonly clock: Pick<Clock, 'setTimer'> },
): void {
  let isSent = false;
  const sent = () => {
    if (isSent) return;
    isSent = true;
    timer.cancel();
    held.free();
  };
  const timer = held.clock.setTimer(sent, maxSendingMs);
  whenOver(context, held.response, sent);
}

/** Calls `done` when the body is sent or no longer needed. */
export function whenOver({ request }: RequestContext, response: ApiResponse | undefined, done: () => void): void {
  const body = response?.body;
  if (!(body instanceof LongBody) || request.method === 'HEAD') return done();
  const gone = request.cancellation ?? request.signal;
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    gone.removeEventListener('abort', end);
    done();
  };
  body.onEnd(end);
  gone.addEventListener('abort', end, { once: true });
  if (gone.aborted) end();
}
