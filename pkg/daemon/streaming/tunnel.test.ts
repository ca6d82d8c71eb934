import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { askUpgrade, openTunnel, type Switched, type Tunnel } from '#daemon/streaming/tunnel.js';

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x/1\r\n\r\n';

async function listen(t: Test, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

const requestTo = (port: number) =>
  httpRequest({ host: '127.0.0.1', port, agent: false, headers: { connection: 'Upgrade', upgrade: 'x/1' } });

/** The four ends of a tunnel: the client's, both sides in the middle, and the backend's. */
async function tunnel(t: Test, more: Partial<Tunnel> = {}, backendSays = switching) {
  let backend: Socket | undefined;
  const port = await listen(t, (socket) => {
    backend = socket;
    socket.once('data', () => socket.write(backendSays));
  });
  const accepted = deferred<Socket>();
  const at = await listen(t, accepted.resolve);
  const client = connect({ port: at, host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => client.destroy());
  const own = await accepted.promise;
  const answered = (await askUpgrade(requestTo(port), 5000)) as Switched;
  if (backend === undefined) throw new Error('no backend');
  return {
    client,
    own,
    answered,
    backend,
    open: () => openTunnel({ ...answered, client: own, clientHead: Buffer.alloc(0), clock, ...more }),
  };
}

/** Everything until the other side ends its half. */
async function textOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'end');
  return text;
}

t.test('early bytes of both sides come first, and each half ends by itself', async (t) => {
  const { backend, client, open } = await tunnel(t, { clientHead: Buffer.from('early ') }, `${switching}at once `);
  open();
  const heard = textOf(backend);
  client.end('last');
  t.equal(await heard, 'early last');
  const said = textOf(client);
  backend.end('the backend goes on');
  t.equal(await said, `${switching}at once the backend goes on`);
});

t.test('a side that is not read stops the other one', async (t) => {
  const { backend, client, open } = await tunnel(t);
  client.pause();
  open();
  const waiting = () => backend.writableLength;
  backend.write(Buffer.alloc(32 * 1024 * 1024));
  // Until the peer accepts no more.
  for (let before = -1; before !== waiting(); await clock.sleep(100)) before = waiting();
  t.ok(waiting() > 0, 'the writer waits');
  client.resume();
  while (waiting() > 0) await clock.sleep(10);
  t.pass('the writer continues');
});

t.test('a reset of a side, or a long silence, ends both', async (t) => {
  for (const side of ['client', 'backend', 'silence'] as const) {
    const ends = await tunnel(t, side === 'silence' ? { silenceMs: 100 } : {});
    ends.open();
    const others = [ends.client, ends.backend].filter((each) => side === 'silence' || each !== ends[side]);
    const closed = others.map((socket) => {
      socket.on('error', () => undefined).resume();
      return new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
    });
    if (side !== 'silence') ends[side].resetAndDestroy();
    await Promise.all(closed);
    t.pass(side);
  }
});

t.test('an aborted tunnel is not opened', async (t) => {
  const aborted = await tunnel(t, { signal: AbortSignal.abort() });
  aborted.open();
  t.ok(aborted.answered.backend.destroyed);
  t.notOk(aborted.own.destroyed, 'the caller still owns the client');
  const gone = await tunnel(t);
  gone.own.destroy();
  gone.open();
  t.ok(gone.answered.backend.destroyed);
  const stop = new AbortController();
  const open = await tunnel(t, { signal: stop.signal });
  open.open();
  stop.abort();
  t.ok(open.answered.backend.destroyed && open.own.destroyed);
});

t.test('refused and failed upgrades', async (t) => {
  const refusing = await listen(
    t,
    (socket) => void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno'),
  );
  const { refusal } = (await askUpgrade(requestTo(refusing), 5000)) as { refusal: IncomingMessage };
  t.equal(refusal.statusCode, 403);
  refusal.resume();
  const silent = await listen(t, () => undefined);
  await t.rejects(askUpgrade(requestTo(silent), 100), { message: 'no answer in 0.1 s' });
  const broken = await listen(t, (socket) => void socket.once('data', () => socket.destroy()));
  await t.rejects(askUpgrade(requestTo(broken), 5000), { message: /hang up/ });
});

t.test('a tunnel with a rate passes all bytes of both sides', async (t) => {
  const { backend, client, open } = await tunnel(t, { bytesPerSecond: 1_000_000 });
  open();
  await once(client, 'data');
  const [toClient, toBackend] = [textOf(client), textOf(backend)];
  client.end('c'.repeat(60_000));
  t.equal((await toBackend).length, 60_000);
  backend.end('b'.repeat(60_000));
  t.equal((await toClient).length, 60_000);
});
