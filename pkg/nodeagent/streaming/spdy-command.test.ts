import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import { SpdySession } from '#daemon/streaming/spdy/session.js';
import { SessionConnection } from '#nodeagent/streaming/session-connection.js';
import { openSpdyCommand, streamCreationTimeoutMs } from '#nodeagent/streaming/spdy-command.js';

const requested = { stdin: false, stdout: true, stderr: false, tty: true };

function open(protocol: string) {
  const clock = new VirtualClock();
  const [near, socket] = duplexPair();
  const connection = new SessionConnection({ socket, clock, idleTimeoutMs: 0 });
  const opened = openSpdyCommand(connection, requested, protocol, clock);
  return { clock, client: new SpdySession(near, 'client'), opened, socket };
}

t.test('a client that does not open its streams is disconnected after 30 seconds', async (t) => {
  const { clock, client, opened } = open('v4.channel.k8s.io');
  const stream = client.open({ streamtype: 'stdout' });
  stream.resume();
  await stream.accepted;
  await clock.advance(streamCreationTimeoutMs - 1);
  t.notOk(client.closed);
  await clock.advance(1);
  t.equal(await opened, undefined);
  while (!client.closed) await new Promise(setImmediate);
});

t.test('a client that disconnects before opening its streams is detected', async (t) => {
  const { client, opened } = open('v4.channel.k8s.io');
  client.close();
  t.equal(await opened, undefined);
});

t.test('terminal sizes, split anywhere, since version 3', async (t) => {
  const { client, opened } = open('v3.channel.k8s.io');
  const [, , resize] = ['error', 'stdout', 'resize'].map((streamtype) => client.open({ streamtype }));
  const connection = await opened;
  let last: object | undefined;
  connection?.resizing.listen((size) => {
    last = size;
  });
  for (const [text, width, height] of [
    ['{"Width":80,"Height":24}{"Width":1', 80, 24],
    ['00,"Height":50}\n', 100, 50],
    [`${'x'.repeat(5000)}{"Width":90,"Height":30}{"Width":7`, 90, 30],
    ['0000,"Height":1}{"Width":91,"Height":30}', 91, 30],
  ] as const) {
    resize?.write(text);
    while ((last as { width?: number } | undefined)?.width !== width) await new Promise(setImmediate);
    t.same(last, { width, height });
  }
  client.close();
});

t.test('version 2 has no terminal sizes', async (t) => {
  const { client, opened } = open('v2.channel.k8s.io');
  for (const streamtype of ['error', 'stdout']) client.open({ streamtype });
  t.ok(await opened);
  client.close();
});

t.test('a client that does not read the last output is disconnected', async (t) => {
  const { clock, client, opened, socket } = open('v2.channel.k8s.io');
  for (const streamtype of ['error', 'stdout']) client.open({ streamtype });
  const connection = await opened;
  connection?.finish({ status: 'Success' });
  while (!socket.writableEnded) await new Promise(setImmediate);
  await clock.advance(10_000);
  t.ok(socket.destroyed);
  t.ok(connection?.disconnected.aborted);
  client.close();
});
