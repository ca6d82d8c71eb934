import { once } from 'node:events';
import { createServer as createHTTPServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';
import type { SessionStreams } from '#nodeagent/cri/cri.js';
import { exitCodeOf, ReadingSocket, runSession } from '#nodeagent/cri/grpc/streaming.js';

interface Runtime {
  readonly url: string;
  /** The upgraded connections. */
  readonly sockets: Set<Duplex>;
}

/** A fake streaming server of a runtime; `serve` receives each stream as it is opened. */
async function runtime(t: Test, serve: (stream: SpdyStream, socket: Duplex) => void): Promise<Runtime> {
  const sockets = new Set<Duplex>();
  const server = createHTTPServer().listen(0, '127.0.0.1');
  server.on('upgrade', (_request, socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    new SpdySession(socket, 'server').on('stream', (stream) => serve(stream, socket));
  });
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/token`, sockets };
}

function streams(signal?: AbortSignal): SessionStreams {
  return {
    tty: false,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    ...(signal === undefined ? {} : { signal }),
  };
}

/** Waits until unhandled rejections have been reported, which happens after the microtasks and fails the test. */
const reported = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Waits until the runtime has seen the end of every connection. */
async function ended(sockets: ReadonlySet<Duplex>): Promise<void> {
  await reported();
  while (sockets.size > 0) await reported();
}

t.test('a session returns the exit code after all output', async (t) => {
  const { url } = await runtime(t, (stream) => {
    const type = stream.headers['streamtype'];
    if (type === 'stdout') stream.end('hello');
    else if (type === 'error') {
      stream.end(
        '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}',
      );
    } else if (type === 'stderr') stream.end();
  });
  const requested = streams();
  t.equal(await runSession(url, requested), 7);
  t.equal(String((requested.stdout as PassThrough).read()), 'hello');
});

t.test('a disconnecting client ends the session and the connection only', async (t) => {
  const leave = new AbortController();
  let opened = 0;
  const { url, sockets } = await runtime(t, (stream) => {
    opened += 1;
    if (stream.headers['streamtype'] === 'stdout') stream.write('working');
    if (opened === 4) setImmediate(() => leave.abort());
  });
  await t.rejects(runSession(url, streams(leave.signal)), { code: 'Cancelled' });
  await ended(sockets);
});

t.test('a client that disconnects before the session begins gets an error', async (t) => {
  const { url, sockets } = await runtime(t, () => undefined);
  await t.rejects(runSession(url, streams(AbortSignal.abort())));
  await ended(sockets);
});

t.test('a runtime that drops the connection ends the session with an error', async (t) => {
  for (const breakOff of [(socket: Duplex) => socket.destroy(), (socket: Duplex) => socket.end()]) {
    let opened = 0;
    const { url } = await runtime(t, (_stream, socket) => {
      opened += 1;
      if (opened === 4) breakOff(socket);
    });
    await t.rejects(runSession(url, streams()), { code: 'Unavailable' });
    await reported();
  }
});

t.test('a failing output ends the session with its error', async (t) => {
  const { url, sockets } = await runtime(t, (stream) => {
    if (stream.headers['streamtype'] === 'stdout') stream.write('some');
  });
  const requested = streams();
  const stdout = requested.stdout as PassThrough;
  stdout.once('data', () => stdout.destroy(new Error('no space')));
  await t.rejects(runSession(url, requested), { message: /no space/ });
  await ended(sockets);
});

t.test('no output is lost if the runtime resets the connection while input arrives', async (t) => {
  const requested = streams();
  const stdin = requested.stdin as PassThrough;
  const outputs: SpdyStream[] = [];
  const { url } = await runtime(t, (stream, socket) => {
    const type = stream.headers['streamtype'];
    if (type !== 'stdin') outputs.push(stream);
    else {
      stream.once('data', async () => {
        const say = (output: SpdyStream) =>
          new Promise<void>((resolve) => {
            output.end(output.headers['streamtype'] === 'error' ? '{"status":"Success"}' : 'last words', resolve);
          });
        await Promise.all(outputs.map(say));
        // The data is unread at this point, so the next write fails first.
        (socket as Socket).resetAndDestroy();
        for (let i = 0; i < 3; i++) stdin.write('more');
      });
    }
    if (outputs.length === 3) stdin.write('some');
  });
  t.equal(await runSession(url, requested), 0);
  t.equal(String((requested.stdout as PassThrough).read()), 'last words');
});

t.test('output and exit code are read if the runtime closes the connection before the streams', async (t) => {
  const outputs = new Map<string, SpdyStream>();
  const { url } = await runtime(t, (stream, socket) => {
    outputs.set(stream.headers['streamtype'] ?? '', stream);
    if (outputs.size < 4) return;
    outputs.get('stdout')?.write('last words');
    const status =
      '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}';
    outputs.get('error')?.write(status, () => socket.end());
  });
  const requested = streams();
  t.equal(await runSession(url, requested), 3);
  t.equal(String((requested.stdout as PassThrough).read()), 'last words');
});

t.test('a session that ends without a complete status has failed', async (t) => {
  for (const [words, code] of [
    ['', 'Unavailable'],
    ['{"status":"Succ', 'Unavailable'],
  ] as const) {
    let opened = 0;
    let error: SpdyStream | undefined;
    const { url } = await runtime(t, (stream, socket) => {
      opened += 1;
      if (stream.headers['streamtype'] === 'error') error = stream;
      if (opened === 4) error?.write(words, () => socket.end());
    });
    await t.rejects(runSession(url, streams()), { code });
  }
  const { url } = await runtime(t, (stream) => {
    if (stream.headers['streamtype'] !== 'stdin') stream.end();
  });
  await t.rejects(runSession(url, streams()), { code: 'Unknown', message: /without a status/ });
});

t.test('an invalid final status is a runtime error', async (t) => {
  t.throws(() => exitCodeOf('{'), { code: 'Unknown' });
  t.throws(() => exitCodeOf('null'), { code: 'Unknown' });
});

t.test('a session URL must be HTTP', async (t) => {
  for (const url of ['', 'no address', 'file:///etc/passwd', 'https://127.0.0.1:1/x', '//127.0.0.1', 'http://'])
    await t.rejects(
      runSession(url, streams()),
      { name: 'CRIError', code: 'Unknown', message: /invalid session URL/ },
      url,
    );
});

t.test('an oversized status and an invalid exit code fail the session', async (t) => {
  const { url } = await runtime(t, (stream) => {
    if (stream.headers['streamtype'] === 'error') stream.end(`{"message":"${'x'.repeat(1 << 20)}"}`);
    else stream.end();
  });
  await t.rejects(runSession(url, streams()), { name: 'CRIError', message: /^the runtime ended the session with/ });
  for (const message of ['', 'x', '-1', '1e9', '9'.repeat(400)]) {
    const details = { causes: [{ reason: 'ExitCode', message }] };
    t.throws(() => exitCodeOf(JSON.stringify({ reason: 'NonZeroExitCode', details })), { name: 'CRIError' }, message);
  }
});

t.test('data sent before a connection reset is read, even after failed writes', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  for (const writes of [1, 2, 3]) {
    const socket = new ReadingSocket();
    let got = '';
    socket.on('data', (part: Buffer) => {
      got += part.toString();
    });
    socket.on('error', () => undefined);
    socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    if (socket.connecting) await once(socket, 'connect');
    socket.setNoDelay(true);
    // In one turn of the event loop, so that nothing is read in between.
    peer.write('last words');
    peer.resetAndDestroy();
    for (let i = 0; i < writes; i++) socket.write('more');
    if (writes === 3) {
      socket.cork();
      for (const part of ['and', 'more']) socket.write(part);
      socket.uncork();
    }
    await once(socket, 'close');
    t.equal(got, 'last words', `${writes} writes`);
  }
});
