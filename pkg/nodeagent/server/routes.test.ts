import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { addSystemLogRoutes } from '#nodeagent/server/server.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { startServingAgent } from '#nodeagent/testing/serving-agent.js';
import { freePort } from '#test/free-port.js';

async function serving(t: Test, args: readonly string[] = [], clock: Clock = realClock) {
  const fixture = await startServingAgent(args, { clock });
  t.teardown(() => fixture.stop());
  return fixture;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function send(port: number, path: string, { method = 'GET', isPlain = false } = {}): Promise<Answer> {
  const options = { host: '127.0.0.1', port, path, method, agent: false } as const;
  const call = isPlain ? plainRequest(options) : request({ ...options, rejectUnauthorized: false });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

t.test('errors have the messages of 1.24', async (t) => {
  const { agent } = await serving(t);
  const rows: [method: string, path: string, status: number, body: string][] = [
    ['GET', '/nothing', 404, '404 page not found\n'],
    ['POST', '/pods', 405, '405: Method Not Allowed'],
    ['DELETE', '/stats/summary', 405, '405: Method Not Allowed'],
    ['GET', '/run/default/web/main', 405, '405: Method Not Allowed'],
    ['POST', '/run/default/none/main?cmd=ls', 404, 'pod does not exist'],
    ['GET', '/checkpoint/default/web/main', 404, '404 page not found\n'],
    ['GET', '/healthz/syncloop', 200, 'ok'],
    ['GET', '/healthz/log', 200, 'ok'],
    ['GET', '/healthz/none', 404, '404 page not found\n'],
  ];
  for (const [method, path, status, body] of rows)
    t.same(await send(agent.port, path, { method }), { status, body }, `${method} ${path}`);
});

t.test('requests without credentials get 401 if anonymous access is off', async (t) => {
  const { agent } = await serving(t, ['--anonymous-auth=false']);
  t.same(await send(agent.port, '/pods'), { status: 401, body: 'Unauthorized' });
});

t.test('debugging paths are rejected if their handlers are disabled', async (t) => {
  const { agent } = await serving(t, ['--enable-debugging-handlers=false']);
  const disabled = { status: 405, body: 'Debug endpoints are disabled.\n' };
  for (const path of [
    '/runningpods/',
    '/logs/',
    '/containerLogs/a/b/c',
    '/exec/a/b/c',
    '/run/a/b/c',
    '/debug/pprof/heap',
  ])
    t.same(await send(agent.port, path), disabled, path);
  t.equal((await send(agent.port, '/pods')).status, 200);
});

t.test('handlers can be disabled one by one', async (t) => {
  const { agent } = await serving(t, [
    '--enable-system-log-handler=false',
    '--enable-profiling-handler=false',
    '--enable-debug-flags-handler=false',
  ]);
  for (const [path, body] of [
    ['/logs/', 'logs endpoint is disabled.\n'],
    ['/debug/pprof/', 'profiling endpoint is disabled.\n'],
    ['/debug/flags/v', 'flags endpoint is disabled.\n'],
  ] as const)
    t.same(await send(agent.port, path), { status: 405, body }, path);
});

t.test("/run responds with the command's output", async (t) => {
  const { agent, api } = await serving(t);
  const pod = testPod('web', {
    containers: [{ name: 'main', image: 'docker.io/test/app:1.0', command: ['sleep', '1000'] }],
  });
  api.seed(pods, pod);
  await eventually(() => api.get(pods, 'default/web')?.status?.phase === 'Running', 'the pod runs');
  const post = (path: string) => send(agent.port, path, { method: 'POST' });
  t.same(await post('/run/default/web/main?cmd=echo%20one%20two'), { status: 200, body: 'one two\n' });
  t.equal((await post(`/run/default/web/${pod.metadata.uid}/main?cmd=true`)).status, 200);
  t.same(await post('/run/default/web/another/main?cmd=true'), { status: 404, body: 'pod does not exist' });
  t.same(await post('/run/default/web/none?cmd=true'), { status: 500, body: 'container "none" not found' });
  t.match(await post('/run/default/web/main?cmd=false'), { status: 500, body: /exited with 1/ });
});

t.test('following a log ends after four hours', async (t) => {
  const hours = 4 * 3_600_000;
  let end: (() => void) | undefined;
  const setTimer: Clock['setTimer'] = (fn, ms) => {
    if (ms === hours) end = fn;
    return realClock.setTimer(fn, ms);
  };
  const { agent, api } = await serving(t, [], { ...realClock, setTimer });
  const command = ['sh', '-c', 'echo one; sleep 1000'];
  api.seed(pods, testPod('web', { containers: [{ name: 'main', image: 'docker.io/test/app:1.0', command }] }));
  await eventually(() => api.get(pods, 'default/web')?.status?.phase === 'Running', 'the pod runs');
  const following = send(agent.port, '/containerLogs/default/web/main?follow=true');
  await eventually(() => end !== undefined, 'the answer has begun');
  end?.();
  t.equal((await following).status, 200);
});

t.test('the read-only port only serves reads', async (t) => {
  const port = await freePort();
  const { agent } = await serving(t, [`--read-only-port=${port}`, '--anonymous-auth=false']);
  const get = (path: string) => send(port, path, { isPlain: true });
  t.match(await get('/pods'), { status: 200, body: /"kind":"PodList"/ });
  t.match(await get('/stats/summary'), { status: 200, body: /"nodeName":"node-1"/ });
  t.match(await get('/metrics'), { status: 200, body: /^nodeagent_http_requests_total\{.*server_type="readonly"/m });
  for (const path of ['/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/state'])
    t.equal((await get(path)).status, 200, path);
  t.same(await get('/healthz'), { status: 200, body: 'ok' });
  t.same(await get('/healthz/ping'), { status: 200, body: 'ok' });
  t.same(await get('/runningpods/'), { status: 405, body: 'Debug endpoints are disabled.\n' });
  t.same(await get('/configz'), { status: 404, body: '404 page not found\n' });
  t.equal((await get('/logs/..%2f')).status, 400);
  t.equal((await send(agent.port, '/pods')).status, 401, 'the other port asks who it is');
});

t.test('logs of the node are served, and links lead to logs of pods only', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'orch-system-logs-'));
  const [dir, podLogsDir, outside] = ['log', 'pods', 'outside'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const app = fastify();
  t.teardown(async () => {
    await app.close();
    await rm(folder, { recursive: true });
  });
  for (const each of [join(dir, 'sub'), podLogsDir, outside]) await mkdir(each, { recursive: true });
  await writeFile(join(dir, 'system.log'), 'one\n');
  await writeFile(join(dir, 'empty.log'), '');
  await writeFile(join(dir, '<b>'), 'x');
  await writeFile(join(podLogsDir, '0.log'), 'of a pod\n');
  await writeFile(join(outside, 'secret'), 'no');
  await symlink(join(podLogsDir, '0.log'), join(dir, 'pod.log'));
  await symlink(join(outside, 'secret'), join(dir, 'planted.log'));
  await symlink(outside, join(dir, 'sub', 'way'));
  addSystemLogRoutes(app as unknown as DaemonApp, { dir, linkedDirs: [podLogsDir] });
  const get = async (url: string) => {
    const { statusCode, body, headers } = await app.inject({ url });
    return { status: statusCode, body, location: headers.location };
  };
  t.match(await get('/logs/system.log'), { status: 200, body: 'one\n' });
  t.match(await get('/logs/empty.log'), { status: 200, body: '' });
  t.match(await get('/logs/pod.log'), { status: 200, body: 'of a pod\n' }, 'links to logs of pods are followed');
  t.match(await get('/logs/'), {
    status: 200,
    body: '<pre>\n<a href="%3Cb%3E">&lt;b&gt;</a>\n<a href="empty.log">empty.log</a>\n<a href="planted.log">planted.log</a>\n',
  });
  t.match(await get('/logs/sub'), { status: 301, location: 'sub/' });
  t.match(await get('/logs/system.log/'), { status: 301, location: '../system.log' });
  for (const path of ['none', 'planted.log', 'sub/way/', 'sub/way/secret'])
    t.match(await get(`/logs/${path}`), { status: 404, body: '404 page not found\n' }, path);
});
