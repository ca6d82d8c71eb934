/** Exec, attach and port-forward with the protocols of common clients, on a simulated node. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { SpdyStream } from '#daemon/streaming/spdy/session.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import {
  eventually,
  newSimulatedRuntime,
  nodeName,
  startAgent,
  testPod,
  testResources,
} from '#nodeagent/testing/agent-fixture.js';
import { bytesOf, NotUpgraded, openSpdy, plainRequest, spdyCommand } from '#nodeagent/testing/spdy-session.js';
import { webSocketMessages, webSocketSession } from '#nodeagent/testing/web-socket-session.js';

t.setTimeout(120_000);
const dialect = orchDialect;
const running = { name: 'main', image: 'docker.io/test/app:1.0', command: ['sleep', '1000'] };
const cat = { name: 'main', image: 'docker.io/test/app:1.0', command: ['cat'], stdin: true };

async function node(args: string[] = [], clock: Clock = realClock) {
  const api = new FakeApi({ dialect, clock: realClock, resources: testResources });
  const runtime = newSimulatedRuntime();
  const shared = { client: api.client, dialect, clock: realClock, random: Math.random, log: silentLogger, nodeName };
  const server = standardServer(shared);
  const fixture = startAgent({
    api,
    runtime,
    clock,
    args: ['--port=0', '--address=127.0.0.1', '--cert-dir=', ...args],
    dependencies: { server },
  });
  await fixture.agent.ready();
  api.seed(pods, testPod('web', { containers: [running] }));
  api.seed(pods, testPod('cat', { containers: [{ ...cat, stdinOnce: true }], restartPolicy: 'Never' }));
  api.seed(pods, testPod('cats', { containers: [cat] }));
  const phase = (name: string) => api.get(pods, `default/${name}`)?.status?.phase;
  for (const name of ['web', 'cat', 'cats']) await eventually(() => phase(name) === 'Running', `${name} runs`);
  const path = `127.0.0.1:${fixture.agent.port}`;
  return { ...fixture, phase, https: `https://${path}`, wss: `wss://${path}` };
}

const fixture = await node();
t.teardown(() => fixture.stop());
const { https, wss } = fixture;
const failing = 'output=1&error=1&command=sh&command=-c&command=echo+out;+echo+err+%3E%262;+exit+3';
const v4 = ['v4.channel.k8s.io'];

t.test('exec over SPDY, in every version of the protocol', async (t) => {
  const url = `${https}/exec/default/web/main?${failing}`;
  const types = ['error', 'stdout', 'stderr'];
  for (const method of ['POST', 'GET']) {
    const result = await spdyCommand({ url, method, protocols: [...v4, 'v3.channel.k8s.io', 'channel.k8s.io'] }, types);
    t.match(result, { protocol: 'v4.channel.k8s.io', stdout: Buffer.from('out\n'), stderr: Buffer.from('err\n') });
    t.match(JSON.parse(result.error), {
      metadata: {},
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: /^command terminated with non-zero exit code/,
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  }
  for (const protocol of ['v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io']) {
    const result = await spdyCommand({ url, protocols: ['v9.channel.k8s.io', protocol] }, types);
    t.equal(result.protocol, protocol);
    t.equal(result.stdout.toString(), 'out\n');
    t.match(result.error, /^command terminated with non-zero exit code/, 'text before version 4');
  }
  const oldest = await spdyCommand({ url, protocols: [] }, types);
  t.equal(oldest.protocol, undefined);
  const fine = await spdyCommand(
    { url: `${https}/exec/default/web/main?output=1&command=true`, protocols: ['v3.channel.k8s.io'] },
    ['error', 'stdout'],
  );
  t.equal(fine.error, '', 'nothing for success');
  const success = await spdyCommand({ url: `${https}/exec/default/web/main?output=1&command=true`, protocols: v4 }, [
    'stdout',
    'error',
  ]);
  t.same(JSON.parse(success.error), { metadata: {}, status: 'Success' });
});

t.test('30 MB in both directions at once arrive intact', async (t) => {
  const sent = randomBytes(30 * 1024 * 1024);
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const query = 'input=1&output=1&command=cat';
  const spdy = await spdyCommand(
    { url: `${https}/exec/default/web/main?${query}`, protocols: v4 },
    ['error', 'stdin', 'stdout'],
    (stdin) => stdin.end(sent),
  );
  t.equal(digest(spdy.stdout), digest(sent), 'SPDY');
  const messages = await webSocketMessages(`${wss}/exec/default/web/main?${query}`, ['v5.channel.k8s.io'], (socket) => {
    const step = 256 * 1024;
    for (let at = 0; at < sent.length; at += step)
      socket.send(Buffer.concat([Buffer.from([0]), sent.subarray(at, at + step)]));
    socket.send(Buffer.from([255, 0]));
  });
  t.equal(
    digest(Buffer.concat(messages.filter((m) => m[0] === 1).map((m) => m.subarray(1)))),
    digest(sent),
    'WebSocket',
  );
});

t.test('a client that does not read makes the process wait', async (t) => {
  const before = process.memoryUsage();
  const url = `${https}/exec/default/web/main?input=1&output=1&command=cat`;
  const { session, socket } = await openSpdy({ url, protocols: v4 });
  const [, stdin, stdout] = ['error', 'stdin', 'stdout'].map((streamtype) => session.open({ streamtype })) as [
    SpdyStream,
    SpdyStream,
    SpdyStream,
  ];
  const chunk = Buffer.alloc(1024 * 1024);
  let accepted = 0;
  const pump = () => {
    stdin.write(chunk, (error) => {
      if (error) return;
      accepted += 1;
      if (accepted < 200) pump();
    });
  };
  pump();
  let last = -1;
  await eventually(() => {
    const still = accepted === last;
    last = accepted;
    return still && accepted > 0;
  }, 'nothing moves any more');
  t.ok(accepted < 60, `${accepted} MB went in`);
  t.ok(process.memoryUsage().arrayBuffers - before.arrayBuffers < 100 * 1024 * 1024);
  t.ok(stdout.readableLength < 2 * 1024 * 1024);
  socket.destroy();
});

t.test("attach connects to the program's streams, and the end of input ends it with stdinOnce", async (t) => {
  const lines = await spdyCommand(
    { url: `${https}/attach/default/cat/main?input=1&output=1&error=1`, protocols: v4 },
    ['error', 'stdin', 'stdout', 'stderr'],
    (stdin) => {
      stdin.write('one\ntw');
      stdin.end('o\n');
    },
  );
  t.equal(lines.stdout.toString(), 'one\ntwo\n');
  t.same(JSON.parse(lines.error), { metadata: {}, status: 'Success' });
  await eventually(() => fixture.phase('cat') === 'Succeeded', 'the pod has ended');
  const { session } = await openSpdy({ url: `${https}/attach/default/cats/main?input=1&output=1`, protocols: v4 });
  const [error, stdin, stdout] = ['error', 'stdin', 'stdout'].map((streamtype) => session.open({ streamtype })) as [
    SpdyStream,
    SpdyStream,
    SpdyStream,
  ];
  error.resume();
  stdin.end('again\n');
  const [chunk] = (await new Promise((resolve) => stdout.once('data', (data) => resolve([data])))) as [Buffer];
  t.equal(chunk.toString(), 'again\n');
  t.equal(fixture.phase('cats'), 'Running', 'a program without stdinOnce goes on');
  session.close();
});

t.test('impossible sessions are rejected with the messages and codes of 1.24', async (t) => {
  const rows: [string, string[], Record<string, string>, number, RegExp][] = [
    [
      '/exec/default/web/main?output=1&command=ls',
      ['v9.channel.k8s.io'],
      {},
      403,
      /^unable to upgrade: unable to negotiate protocol: client supports \[v9\.channel\.k8s\.io\], server accepts \[v4\.channel\.k8s\.io v3\.channel\.k8s\.io v2\.channel\.k8s\.io channel\.k8s\.io\]\n$/,
    ],
    ['/portForward/default/web', v4, {}, 403, /server accepts \[portforward\.k8s\.io\]/],
    [
      '/exec/default/web/main?output=1&command=ls',
      v4,
      { Upgrade: 'h2c' },
      400,
      /^unable to upgrade: missing upgrade headers in request/,
    ],
    ['/exec/default/web/main?command=ls', v4, {}, 400, /you must specify at least 1 of stdin, stdout, stderr/],
    ['/exec/default/none/main?output=1&command=ls', v4, {}, 404, /not found/],
  ];
  for (const [path, protocols, headers, code, body] of rows) {
    const error = await openSpdy({ url: `${https}${path}`, protocols, headers }).catch((error: unknown) => error);
    t.ok(error instanceof NotUpgraded);
    t.match(error, { code, body });
    if (path.includes('?output') && code === 403) {
      t.match((error as NotUpgraded).headers, { 'x-accepted-stream-protocol-versions': /^v4\.channel\.k8s\.io, v3/ });
    }
  }
});

t.test('session requests without an upgrade are rejected', async (t) => {
  const rows: [string, string, number, RegExp][] = [
    ['GET', '/exec/default/web/main?output=1&command=ls', 500, /^Upgrade request required\n$/],
    ['POST', '/exec/default/web/main?output=1&command=ls', 500, /^Upgrade request required\n$/],
    ['POST', '/attach/default/web/main?output=1', 500, /^Upgrade request required\n$/],
    ['GET', '/portForward/default/web', 500, /^Upgrade request required\n$/],
    ['POST', '/portForward/default/web/', 500, /^Upgrade request required\n$/],
    ['GET', '/exec/default/web/main?command=ls', 400, /you must specify at least 1 of stdin, stdout, stderr/],
    ['GET', '/exec/default/none/main?output=1&command=ls', 404, /not found/],
    ['GET', '/portForward/default/none', 404, /not found/],
    ['PUT', '/exec/default/web/main?output=1&command=ls', 405, /MethodNotAllowed/],
    ['GET', '/exec/default', 404, /NotFound/],
  ];
  for (const [method, path, code, body] of rows) {
    // A body of an unsupported type, which is not read.
    const sent = method === 'POST' ? { body: 'x', headers: { 'Content-Type': 'a/b' } } : {};
    const response = await plainRequest(`${https}${path}`, { method, ...sent });
    t.match(response, { code, body }, `${method} ${path}`);
  }
});

t.test('unexpected streams are rejected, and a session with missing streams does not start', async (t) => {
  const { session } = await openSpdy({
    url: `${https}/exec/default/web/main?output=1&command=hostname`,
    protocols: v4,
  });
  const refused = session.open({ streamtype: 'stdin' });
  t.equal((await bytesOf(refused)).length, 0);
  await t.rejects(refused.accepted);
  const stdout = session.open({ streamtype: 'stdout' });
  const error = session.open({ streamtype: 'error' });
  t.equal((await bytesOf(stdout)).toString(), 'web\n');
  t.match((await bytesOf(error)).toString(), /Success/);
  session.close();
});

t.test('exec over WebSocket in every subprotocol', async (t) => {
  const url = `${wss}/exec/default/web/main?${failing}`;
  const decode = (message: Buffer) =>
    Buffer.concat([Buffer.from([(message[0] ?? 0) - 0x30]), Buffer.from(message.toString('latin1', 1), 'base64')]);
  for (const protocol of [
    'v5.channel.k8s.io',
    'v4.channel.k8s.io',
    'v4.base64.channel.k8s.io',
    'channel.k8s.io',
    'base64.channel.k8s.io',
    '',
  ]) {
    const raw = await webSocketMessages(url, protocol === '' ? [] : ['v9.channel.k8s.io', protocol]);
    const messages = protocol.includes('base64') ? raw.map(decode) : raw;
    const isEmpty = messages[0]?.length === 1;
    t.equal(isEmpty, !protocol.startsWith('v5'), 'an empty message opens it');
    const outputOf = (channel: number) =>
      Buffer.concat(messages.filter((m) => m[0] === channel).map((m) => m.subarray(1))).toString();
    t.equal(outputOf(1), 'out\n', protocol);
    t.equal(outputOf(2), 'err\n');
    if (/^v[45]/.test(protocol)) t.match(JSON.parse(outputOf(3)), { reason: 'NonZeroExitCode' });
    else t.match(outputOf(3), /^command terminated with non-zero exit code: /);
  }
  await t.rejects(webSocketMessages(url, ['v9.channel.k8s.io']), /403/);
});

t.test('input over WebSocket: base64, invalid base64, invalid channels', async (t) => {
  const url = `${wss}/exec/default/web/main?input=1&output=1&command=cat`;
  for (const [protocol, hello] of [
    ['base64.channel.k8s.io', `0${Buffer.from('hello').toString('base64')}`],
    ['channel.k8s.io', Buffer.from('\0hello')],
  ] as const) {
    let got = '';
    await webSocketMessages(url, [protocol], (socket) => {
      for (const message of ['0***', '9eHh4', Buffer.from([77, 1, 2]), Buffer.from([255, 0]), '', hello])
        socket.send(message);
      socket.on('message', (data: Buffer) => {
        got +=
          protocol === 'channel.k8s.io'
            ? data.toString('latin1', 1)
            : Buffer.from(data.toString('latin1', 1), 'base64').toString();
        // Before version 5, only the end of the connection ends the input.
        if (got.includes('hello')) socket.close();
      });
    });
    t.equal(got, 'hello');
  }
});

t.test('port-forward over WebSocket: two channels per port', async (t) => {
  for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', '']) {
    const base64 = protocol.includes('base64');
    const frame = (channel: number, text: string) =>
      base64
        ? `${channel}${Buffer.from(text).toString('base64')}`
        : Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);
    const messages = await webSocketMessages(
      `${wss}/portForward/default/web?port=80&port=8443`,
      protocol === '' ? [] : [protocol],
      (socket) => {
        for (const channel of [0, 2]) socket.send(frame(channel, 'GET / HTTP/1.1\r\n\r\n'));
      },
    );
    const payloads = (channel: number) => {
      const own = messages.filter((m) => (m[0] ?? 0) - (base64 ? 0x30 : 0) === channel).map((m) => m.subarray(1));
      return Buffer.concat(base64 ? own.map((m) => Buffer.from(m.toString('latin1'), 'base64')) : own);
    };
    for (const [i, port] of [80, 8443].entries()) {
      t.equal(payloads(2 * i).readUInt16LE(0), port);
      t.match(
        payloads(2 * i)
          .subarray(2)
          .toString(),
        /^HTTP\/1\.1 200 OK.*Hello from web\n$/s,
      );
      t.same([...payloads(2 * i + 1)], [...payloads(2 * i).subarray(0, 2)], 'no errors');
    }
  }
  for (const query of [
    '',
    '?port=',
    '?port=0',
    '?port=x',
    '?port=70000',
    `?port=${Array.from({ length: 200 }, (_, i) => i + 1).join(',')}`,
  ]) {
    await t.rejects(webSocketMessages(`${wss}/portForward/default/web${query}`, v4), /400/, query);
  }
});

t.test('port-forward over SPDY, many at once', async (t) => {
  const { session, protocol } = await openSpdy({
    url: `${https}/portForward/default/web`,
    protocols: ['portforward.k8s.io'],
  });
  t.equal(protocol, 'portforward.k8s.io');
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const headers = { port: '80', requestid: String(i) };
      const error = session.open({ ...headers, streamtype: 'error' });
      error.end();
      const data = session.open({ ...headers, streamtype: 'data' });
      data.end('GET / HTTP/1.1\r\n\r\n');
      return Promise.all([bytesOf(data), bytesOf(error)]);
    }),
  );
  for (const [data, error] of answers) {
    t.match(data.toString(), /Hello from web\n$/);
    t.equal(error.length, 0);
  }
  session.close();
});

/** Real time until stopped, and then advanced by the test. */
class StoppableClock implements Clock {
  readonly now = realClock.now;
  readonly setTimer = realClock.setTimer;
  readonly sleep = realClock.sleep;
  #stoppedAt: number | undefined;

  monotonic(): number {
    return this.#stoppedAt ?? realClock.monotonic();
  }

  stop(): void {
    this.#stoppedAt = realClock.monotonic();
  }

  pass(ms: number): void {
    this.#stoppedAt = this.monotonic() + ms;
  }
}

t.test('an idle session ends at the limit, with every protocol', async (t) => {
  const clock = new StoppableClock();
  const short = await node(['--streaming-connection-idle-timeout=300ms'], clock);
  t.teardown(() => short.stop());
  clock.stop();
  const exec = '/exec/default/web/main?input=1&output=1&command=cat';
  const sockets = [deferred(), deferred()] as const;
  const webSockets = [
    webSocketSession(short.wss + exec, () => sockets[0].resolve()),
    webSocketSession(`${short.wss}/portForward/default/web?port=80`, () => sockets[1].resolve(), 'v4.channel.k8s.io'),
  ];
  const spdy = await openSpdy({ url: short.https + exec, protocols: v4 });
  const streams = ['error', 'stdin', 'stdout'].map((streamtype) => spdy.session.open({ streamtype }));
  const forward = await openSpdy({ url: `${short.https}/portForward/default/web`, protocols: ['portforward.k8s.io'] });
  await Promise.all([...sockets.map(({ promise }) => promise), ...streams.map(({ accepted }) => accepted)]);
  clock.pass(200);
  // Only data counts.
  await spdy.session.ping();
  clock.pass(100);
  for (const { session } of [spdy, forward]) if (!session.closed) await once(session, 'close');
  await Promise.all(webSockets);
  const busy = await openSpdy({ url: short.https + exec, protocols: v4 });
  const [, stdin, stdout] = ['error', 'stdin', 'stdout'].map((streamtype) => busy.session.open({ streamtype })) as [
    SpdyStream,
    SpdyStream,
    SpdyStream,
  ];
  for (let i = 0; i < 10; i++) {
    clock.pass(200);
    stdin.write('x');
    t.equal(String((await once(stdout, 'data'))[0]), 'x', 'a session that is used goes on');
  }
  clock.pass(300);
  await once(busy.session, 'close');
});
