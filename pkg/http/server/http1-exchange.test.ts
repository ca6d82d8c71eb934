import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { Bodies } from '#http/server/bodies.js';
import { Chunks, Http1Exchange } from '#http/server/http1-exchange.js';
import { Shares } from '#http/server/server-request.js';

const options = {
  clock: realClock,
  peer: { address: '', certificate: undefined },
  chunks: new Chunks(),
  shares: { requests: new Shares(1), bodyBytes: new Shares(1) },
  bodies: new Bodies({ clock: realClock, maxBytes: 0, periodMs: 1000, limitMs: 1000 }),
  maxBodyBytes: 0,
  lingerMs: 0,
  closed: () => undefined,
};

/** What a client receives when the response is written this way. */
async function received(t: Test, write: (answer: Http1Exchange) => void): Promise<Buffer> {
  const server = createServer((request, response: ServerResponse) => {
    const answer = new Http1Exchange(request, response, false, options);
    answer.head(200, { 'content-type': 'text/plain' });
    answer.flush();
    write(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
  const [response] = await once(request, 'response');
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  return Buffer.concat(parts);
}

const sizes = [1, 16_000, 16_376, 16_377, 40_000, 65_536, 65_537, 200_000];
const parts = sizes.map((size, i) => Buffer.alloc(size, String.fromCharCode(97 + i)));

void t.test('parts of any size arrive complete, one after the other', async (t) => {
  const got = await received(t, (answer) => {
    const left = [...parts];
    const goOn = () => {
      for (let part = left.shift(); part !== undefined; part = left.shift()) if (!answer.write(part)) return;
      answer.end();
    };
    answer.listener = { drained: goOn, closed: () => undefined };
    goOn();
  });
  t.ok(got.equals(Buffer.concat(parts)));
});

void t.test('the last part follows unsent ones', async (t) => {
  const got = await received(t, (answer) => {
    for (const part of parts) answer.write(part);
    answer.end(Buffer.from('end'));
  });
  t.ok(got.equals(Buffer.concat([...parts, Buffer.from('end')])));
});
