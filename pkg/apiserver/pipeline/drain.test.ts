import t from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { Drain, handled } from '#apiserver/pipeline/drain.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const limitMs = 60_000;
const ok: ApiResponse = { status: 200, headers: {}, body: undefined };

const get = (url: string, headers: Record<string, string> = {}): ApiRequest => ({
  method: 'GET',
  url,
  headers,
  body: Buffer.alloc(0),
  remoteAddress: '127.0.0.1',
  signal: new AbortController().signal,
});

async function settled(work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  void work.then(() => {
    isSettled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return isSettled;
}

t.test('without a drain the handler is called directly', async (t) => {
  const handler = () => ok;
  t.equal(handled(undefined, handler), handler);
});

for (const dialect of [orchDialect, kubernetesDialect]) {
  const name = dialect.components.apiServer;

  t.test(`${name} ends when the requests under way have their responses`, async (t) => {
    const drain = new Drain(name);
    const clock = new VirtualClock();
    const pending = deferred<ApiResponse>();
    const watching = deferred<ApiResponse>();
    const first = drain.serve(get('/api/v1/pods'), () => pending.promise);
    void drain.serve(get('/api/v1/pods?watch=true'), () => watching.promise);
    void drain.serve(get('/api/v1/namespaces/a/pods/b/exec?command=x'), () => watching.promise);
    t.equal(drain.isEnding, false);
    const end = drain.end(clock, limitMs);
    t.equal(drain.isEnding, true);
    t.equal(await settled(end), false, 'a request is under way');
    const refused = await drain.serve(get('/api/v1/nodes'), () => ok);
    t.match(refused, {
      status: 429,
      headers: { 'retry-after': '5', connection: 'close', 'content-type': /^text\/plain/ },
    });
    t.equal(String(refused.body), 'The apiserver is shutting down, please try again later.\n');
    for (const url of ['/readyz', '/livez?verbose', '/healthz/ping', '/metrics']) {
      t.equal(await drain.serve(get(url), () => ok), ok, `${url} is served to the end`);
    }
    t.equal(await drain.serve(get('/api/v1/nodes', { 'user-agent': `${name}/v1` }), () => ok), ok, 'its own request');
    pending.resolve(ok);
    t.equal(await first, ok);
    await end;
    t.equal((await drain.serve(get('/api'), () => ok)).status, 429, 'for good');
  });

  t.test(`${name} does not wait for ever, and counts failures as responses`, async (t) => {
    const drain = new Drain(name);
    const clock = new VirtualClock();
    const broken = Promise.resolve(drain.serve(get('/api/v1/pods'), () => Promise.reject(new Error('broken'))));
    await t.rejects(broken, /broken/);
    void drain.serve(get('/api/v1/pods'), () => deferred<ApiResponse>().promise);
    const end = drain.end(clock, limitMs);
    await clock.advance(limitMs - 1);
    t.equal(await settled(end), false);
    await clock.advance(1);
    await end;
  });

  t.test(`${name} ends at once when nothing is under way`, async (t) => {
    const drain = new Drain(name);
    t.equal(await drain.serve(get('/api'), () => ok), ok);
    await drain.end(new VirtualClock(), limitMs);
    t.equal(drain.isEnding, true);
  });
}
