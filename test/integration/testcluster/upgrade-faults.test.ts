/** Faults of connections that leave HTTP: exec, port-forward and watches over WebSocket. */
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { request } from 'node:https';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { type RawData, WebSocket } from 'ws';
import { pods } from '#api/core/v1/resources.gen.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

const started = await startTestCluster({ nodes: 1, controllers: 'none' });
t.teardown(() => started.close());
const { client } = started.cluster;
const { ca, clientCertificate: cert, clientKey: key } = started.credentials;
const where = { namespace: 'default' };
const annotations = { 'sim.kubernetes.io/exec': "say *: '0123456789abcdefghijklmnopqrstuvwxyz'" };
await client.resource(pods).create({
  metadata: { name: 'web', ...where, annotations },
  spec: { containers: [{ name: 'main', image: 'example.com/web:1' }], serviceAccountName: '' },
});
await client.request('POST', '/test/settle', {});

const execPath = '/api/v1/namespaces/default/pods/web/exec?command=say&command=it&stdout=1';

interface Outcome {
  /** 101 for an upgrade, 0 for a connection that breaks off before. */
  readonly status: number;
  readonly body: string;
}

/** The answer to a request for an upgrade, which needs no WebSocket. */
function answerTo(path: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': 'v4.channel.k8s.io' };
    const outgoing: ClientRequest = request(`${started.url()}${path}`, {
      ...{ ca, cert, key, agent: false },
      headers: { ...headers, 'sec-websocket-version': '13', 'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==' },
    });
    outgoing.on('upgrade', (_response, socket: Socket) => {
      socket.destroy();
      resolve({ status: 101, body: '' });
    });
    outgoing.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.on('error', (error) => resolve({ status: 0, body: error.message }));
    outgoing.end();
  });
}

interface Talk {
  readonly code: number;
  /** What arrived, without the first byte of each message, which names a stream. */
  readonly text: string;
  readonly messages: number;
}

async function talk(path: string, protocol = 'v4.channel.k8s.io'): Promise<Talk> {
  const protocols = protocol === '' ? [] : [protocol];
  const socket = new WebSocket(`${started.url().replace('https', 'wss')}${path}`, protocols, { ca, cert, key });
  socket.on('error', () => undefined);
  let text = '';
  let messages = 0;
  socket.on('message', (data: RawData) => {
    messages += 1;
    text += Buffer.from(data as Buffer)
      .subarray(1)
      .toString();
  });
  const [code] = (await once(socket, 'close')) as [number];
  return { code, text, messages };
}

async function withFaults<T>(t: Test, rule: object, work: () => Promise<T>, injected = 1): Promise<T> {
  await client.request('POST', '/test/faults', { seed: 7, rules: [{ match: { resources: ['pods/exec'] }, ...rule }] });
  const result = await work();
  t.match(await client.request('GET', '/test/faults'), { rules: [{ injected }] }, 'faults are counted');
  await client.request('DELETE', '/test/faults');
  return result;
}

t.test('without faults commands run', async (t) => {
  t.match(await talk(execPath), { code: 1000, text: /^0123456789abcdefghijklmnopqrstuvwxyz/ });
});

t.test('a status comes before the upgrade', async (t) => {
  const rule = { answer: { code: 503, message: 'no streams today' } };
  const { status, body } = await withFaults(t, rule, () => answerTo(execPath));
  t.equal(status, 503);
  t.match(JSON.parse(body), { kind: 'Status', reason: 'ServiceUnavailable', message: 'no streams today' });
});

t.test('a connection breaks off instead of the upgrade', async (t) => {
  t.match(await withFaults(t, { reset: true }, () => answerTo(execPath)), { status: 0, body: /hang up|ECONNRESET/ });
});

t.test('a rule with applied lets the command run, and breaks off', async (t) => {
  for (const rule of [{ answer: { code: 500, applied: true } }, { reset: { applied: true } }])
    t.not((await withFaults(t, rule, () => answerTo(execPath))).status, 500, 'no status can follow an upgrade');
});

t.test('a stream breaks off after bytes', async (t) => {
  const rule = { stream: { cutAfterBytes: 12 } };
  t.match(await withFaults(t, rule, () => talk(execPath)), { code: 1006 }, 'without a closing message');
});

t.test('a stream breaks off at once', async (t) => {
  t.match(await withFaults(t, { stream: { cutAfter: '0s' } }, () => talk(execPath)), { code: 1006 });
});

t.test('rules of streams leave other requests alone', async (t) => {
  const rule = { match: {}, stream: { cutAfterBytes: 0 } };
  t.ok(await withFaults(t, rule, () => client.resource(pods).get('web', where), 0), 'a plain request has its answer');
});

t.test('watches over WebSocket get the faults of watches', async (t) => {
  const path = '/api/v1/namespaces/default/pods?watch=true';
  const match = { verbs: ['watch'], resources: ['pods'] };
  t.equal((await withFaults(t, { match, answer: 410 }, () => answerTo(path))).status, 410);
  const rule = { match, watch: { cutAfter: '0s' } };
  t.match(await withFaults(t, rule, () => talk(path, '')), { code: 1006 });
});
