/** The page's worker: it holds the watches and all rows, and answers inquiries, so that the page never waits. */
import { dialectByName } from '#apimachinery/dialect.js';
import { browserClock, browserRandom } from '#dashboard/client/platform/browser-clock.js';
import { HttpRequests } from '#dashboard/client/platform/http.js';
import { Hub } from '#dashboard/live/hub.js';
import { answerWhy } from '#dashboard/live/why.js';
import type { FromWorker, ToWorker } from '#dashboard/model/messages.js';
import { troubleFrom } from '#dashboard/model/trouble.js';

type Started = Extract<ToWorker, { type: 'start' }>;

function send(message: FromWorker): void {
  postMessage(message);
}

function serve({ credentials, dialect: dialectName }: Started): (message: ToWorker) => void {
  const requests = new HttpRequests(credentials);
  const dialect = dialectByName(dialectName);
  const options = { requests, clock: browserClock, random: browserRandom, metaGroup: dialect.groupName('meta') };
  const hub = new Hub(options, (id, state) => send({ type: 'state', id, state }));
  return (message) => {
    if (message.type === 'show') hub.show(message.id, message.spec);
    else if (message.type === 'end') hub.end(message.id);
    else if (message.type === 'why') {
      const { id, request } = message;
      answerWhy(request, { requests, dialect, nowMs: browserClock.now() }).then(
        (answer) => send({ type: 'answer', id, answer }),
        (error: unknown) => send({ type: 'failure', id, trouble: troubleFrom(error) }),
      );
    }
  };
}

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if (data.type !== 'start') return;
  const handle = serve(data);
  addEventListener('message', (event: MessageEvent<ToWorker>) => handle(event.data));
});
