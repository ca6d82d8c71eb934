/** Extension servers that hang, crash, never end or respond wrongly affect only their own requests: all costs are bounded. */
import { createServer } from 'node:net';
import t from 'tap';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import {
  type Aggregating,
  addExtension,
  ask,
  condition,
  startAggregating,
} from '#test/integration/apiserver/aggregation/aggregating-server.js';
import type { Extension } from '#test/integration/apiserver/aggregation/extension-server.js';
import { behaviours } from '#test/integration/apiserver/aggregation/hostile-extension.js';

const root = '/apis/hostile.example.com/v1';
const victims = 12;

let aggregating: Aggregating;
let extension: Extension;
t.before(async () => {
  aggregating = await startAggregating(t);
  extension = await addExtension(t, aggregating, 'hostile');
  await condition(aggregating, 'v1.hostile.example.com', ({ status }) => status === 'True');
});

for (const [name, [, status, text = /./]] of Object.entries(behaviours)) {
  t.test(name, async (t) => {
    const one = () =>
      ask(aggregating, 'admin', 'GET', `${root}/${name}${status === 504 ? '?timeout=1s' : ''}`).then(
        (answer) => answer,
        () => 'broken' as const,
      );
    const suffering = Promise.all(Array.from({ length: victims }, one));
    // Other requests are not affected meanwhile.
    for (let i = 0; i < 5; i++) t.equal((await ask(aggregating, 'admin', 'GET', '/api/v1/namespaces')).status, 200);
    for (const answer of await suffering) {
      if (status === 'broken') t.equal(answer, 'broken');
      else t.match(answer, { status, text: status === 200 ? String : text });
    }
    while ((extension.open.get(`${root}/${name}`) ?? 0) > 0) await realClock.sleep(10);
    t.equal(
      (await ask(aggregating, 'admin', 'GET', `${root}/echoes`)).status,
      200,
      'the next one is none the worse for it',
    );
  });
}

t.test('a server that accepts connections and never responds', async (t) => {
  let most = 0;
  let open = 0;
  const silent = createServer((socket) => {
    open += 1;
    most = Math.max(most, open);
    socket.on('error', () => undefined);
    // Without reading, the client does not notice that the server has closed the connection.
    socket.resume();
    socket.on('close', () => {
      open -= 1;
    });
  });
  await new Promise<void>((resolve) => silent.listen(0, 'localhost', resolve));
  t.teardown(() => silent.close());
  const { port } = silent.address() as import('node:net').AddressInfo;
  const { client } = aggregating.server;
  const service = { metadata: { name: 'silent' }, spec: { type: 'ExternalName', externalName: 'localhost' } };
  await client.resource<Service>(services).create(service as Service, { namespace: 'default' });
  await client.resource(apiservices).create({
    metadata: { name: 'v1.silent.example.com' },
    spec: {
      group: 'silent.example.com',
      version: 'v1',
      service: { namespace: 'default', name: 'silent', port },
      groupPriorityMinimum: 1000,
      versionPriority: 1,
      insecureSkipTLSVerify: true,
    },
  });
  const failed = await condition(aggregating, 'v1.silent.example.com', ({ status }) => status === 'False');
  t.match(failed, { reason: 'FailedDiscoveryCheck', message: /timed out waiting for https/ });
  t.ok(most <= 5, 'as many connections as a check makes', { most });
  t.equal((await ask(aggregating, 'admin', 'GET', '/apis/silent.example.com/v1')).status, 503);
});
