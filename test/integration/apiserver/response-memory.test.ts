/** The memory that slow clients can make the server hold, and for how long. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { ApiServer, ApiServerOptions } from '#apiserver/build/api-server.js';
import { call, callHttps, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';
/** Memory held by two streamed responses. */
const twoAnswers = 2 * 4 * 128 * 1024;

async function filled(t: Test, options: ApiServerOptions): Promise<ApiServer> {
  const server = await startServer(t, { https: true, options });
  const data = { x: 'y'.repeat(500_000) };
  for (let i = 0; i < 40; i++) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${i}` }, data };
    t.equal((await call(server, 'POST', path, { body })).status, 201);
  }
  return server;
}

interface Stalled {
  readonly outgoing: ClientRequest;
  readonly response: IncomingMessage;
}

/** Sends a request and reads nothing of the response. */
function stall(t: Test, server: ApiServer, at: string): Promise<Stalled> {
  const { port } = server.address ?? {};
  const outgoing = request({ host: '127.0.0.1', port, path: at, rejectUnauthorized: false, agent: false });
  t.teardown(() => outgoing.destroy());
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      response.pause();
      response.on('error', () => undefined);
      resolve({ outgoing, response });
    });
    outgoing.end();
  });
}

async function metric(server: ApiServer, name: string): Promise<number> {
  const { text } = await call(server, 'GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN);
}

async function until(server: ApiServer, name: string, value: number): Promise<void> {
  while ((await metric(server, name)) !== value) await realClock.sleep(10);
}

const used = 'apiserver_response_memory_bytes';
const waiting = 'apiserver_waiting_responses';

t.test('responses wait for memory held by slow clients', async (t) => {
  const server = await filled(t, { responseMemoryBytes: twoAnswers });
  const slow = [await stall(t, server, path), await stall(t, server, path)];
  t.equal(await metric(server, used), twoAnswers);
  const third = callHttps(server, 'GET', path);
  await until(server, waiting, 1);
  t.equal((await callHttps(server, 'GET', `${path}?limit=0&fieldSelector=metadata.name%3Dnone`)).status, 200);
  slow[0]?.outgoing.destroy();
  const { status, json } = await third;
  t.equal(status, 200);
  t.equal(json.items.length, 40);
  for (const { outgoing } of slow) outgoing.destroy();
  await until(server, used, 0);
});

t.test('a client that waits too long is told to retry', async (t) => {
  const server = await filled(t, { responseMemoryBytes: twoAnswers, responseWaitMs: 1 });
  await Promise.all([stall(t, server, path), stall(t, server, path)]);
  const { status, headers, json } = await callHttps(server, 'GET', path);
  t.equal(status, 429);
  t.equal(headers['retry-after'], '1');
  t.match(json, { kind: 'Status', reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
  t.equal(await metric(server, 'apiserver_refused_responses_total'), 1);
});

t.test('a client that does not read or takes too long is disconnected', async (t) => {
  const stalling = await filled(t, { stallMs: 100 });
  const { response } = await stall(t, stalling, path);
  const cut = new Promise<void>((resolve) => response.once('close', resolve));
  await until(stalling, used, 0);
  response.resume();
  await cut;
  t.notOk(response.complete, 'the answer was broken off');

  const hurried = await filled(t, { requestTimeoutMs: 1000 });
  await stall(t, hurried, path);
  await until(hurried, used, 0);
});

t.test('a watch whose client does not read ends, and releases its memory', async (t) => {
  const server = await filled(t, { stallMs: 100 });
  await stall(t, server, `${path}?watch=true`);
  const open = async () => {
    const { text } = await call(server, 'GET', '/metrics');
    return Number(/^apiserver_longrunning_requests\{[^}]*configmaps[^}]*\} (\S+)/m.exec(text)?.[1]);
  };
  // It may have ended by now, but was counted.
  t.ok([0, 1].includes(await open()));
  while ((await open()) !== 0) await realClock.sleep(10);
});
