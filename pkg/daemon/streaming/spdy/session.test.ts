import { Duplex } from 'node:stream';
import t from 'tap';
import { duplexPair } from '#daemon/streaming/duplex-pair.js';
import { controlFrame, dataHead, frameType, uint32s } from '#daemon/streaming/spdy/frames.js';
import { HeaderReader, HeaderWriter, spdyDictionary } from '#daemon/streaming/spdy/headers.js';
import { SpdySession, type SpdyStream } from '#daemon/streaming/spdy/session.js';

async function text(stream: AsyncIterable<unknown>): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}

function sessions(onStream: (stream: SpdyStream) => void): SpdySession {
  const [near, far] = duplexPair();
  new SpdySession(far, 'server').on('stream', onStream);
  return new SpdySession(near, 'client');
}

t.test('the dictionary matches the draft', async (t) => {
  t.equal(spdyDictionary.length, 1423);
});

t.test('header blocks can be written and read', async (t) => {
  const writer = new HeaderWriter();
  const reader = new HeaderReader();
  for (const headers of [{ streamtype: 'data', port: '80' }, {}, { a: 'ü' }]) {
    t.same({ ...(await reader.decode(writer.encode(headers))) }, headers);
  }
  // An empty block as another implementation compresses it.
  const other = new HeaderReader();
  t.same({ ...(await other.decode(Buffer.from('78f9e3c6a7c26260606000000000ffff', 'hex'))) }, {});
  await t.rejects(other.decode(Buffer.from('deadbeef', 'hex')));
  for (const each of [reader, other]) each.close();
});

t.test('streams carry both directions, and each ends by itself', async (t) => {
  const client = sessions((stream) => {
    let got = '';
    stream.on('data', (chunk) => {
      got += String(chunk);
    });
    stream.on('end', () => stream.end(`${stream.headers['name']} got ${got}`));
  });
  const streams = ['a', 'b', 'c'].map((name) => client.open({ name }));
  for (const [i, stream] of streams.entries()) stream.end(`message ${i}`);
  t.same(await Promise.all(streams.map(text)), ['a got message 0', 'b got message 1', 'c got message 2']);
  await Promise.all(streams.map((stream) => stream.accepted));
  client.close();
});

t.test('large data arrives complete, and a slow reader slows the writer', async (t) => {
  const size = 3 * 1024 * 1024;
  const client = sessions((stream) => stream.end(Buffer.alloc(size, 'x')));
  const stream = client.open({});
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.ok(stream.readableLength < size, 'the writer waits for the reader');
  t.equal((await text(stream)).length, size);
  client.close();
});

t.test('a reset stream still delivers earlier data', async (t) => {
  const client = sessions((stream) => {
    stream.write('last words');
    setImmediate(() => stream.destroy());
  });
  const stream = client.open({});
  t.equal(await text(stream), 'last words');
  client.close();
});

t.test('the end of the connection ends every stream', async (t) => {
  let server: SpdyStream | undefined;
  const client = sessions((stream) => {
    server = stream;
  });
  const stream = client.open({});
  stream.on('error', () => undefined);
  await stream.accepted;
  client.close();
  await new Promise<void>((resolve) => (server?.destroyed ? resolve() : server?.once('close', () => resolve())));
  t.ok(stream.destroyed);
  t.throws(() => client.open({}));
});

t.test('protocol violations end the connection', async (t) => {
  for (const bytes of ['ffffffffffffffffffffff', '80030001000000040000000000', '8003000100000020'.padEnd(80, '5')]) {
    const [near, far] = duplexPair();
    const session = new SpdySession(far, 'server');
    const closed = new Promise<void>((resolve) => session.once('close', () => resolve()));
    near.on('error', () => undefined);
    near.write(Buffer.from(bytes, 'hex'));
    near.resume();
    near.end();
    await closed;
  }
  t.pass('all closed');
});

t.test('the last data of a peer survives an immediate disconnect', async (t) => {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const client = new SpdySession(connection, 'client');
  const stream = client.open({});
  await new Promise(setImmediate);
  connection.push(controlFrame(frameType.synReply, 0, Buffer.concat([uint32s(1), new HeaderWriter().encode({})])));
  connection.push(Buffer.concat([dataHead(1, true, 10), Buffer.from('last words')]));
  // Like a socket whose peer closed it with unread data.
  connection.destroy(new Error('ECONNRESET'));
  t.equal(await text(stream), 'last words');
});

t.test('data that arrived while paused survives, too', async (t) => {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const client = new SpdySession(connection, 'client');
  const stream = client.open({});
  await new Promise(setImmediate);
  const size = 128 * 1024;
  connection.push(controlFrame(frameType.synReply, 0, Buffer.concat([uint32s(1), new HeaderWriter().encode({})])));
  connection.push(Buffer.concat([dataHead(1, false, size), Buffer.alloc(size, 'x')]));
  t.ok(connection.isPaused());
  connection.push(Buffer.concat([dataHead(1, true, 10), Buffer.from('last words')]));
  connection.destroy(new Error('ECONNRESET'));
  t.equal((await text(stream)).slice(size), 'last words');
});

t.test('a cut stream delivers earlier data, then breaks off', async (t) => {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const client = new SpdySession(connection, 'client');
  const stream = client.open({});
  connection.push(Buffer.concat([dataHead(1, false, 10), Buffer.from('last words')]));
  connection.push(null);
  let got = '';
  await t.rejects(
    async () => {
      for await (const chunk of stream as AsyncIterable<Buffer>) got += String(chunk);
    },
    { code: 'ERR_STREAM_PREMATURE_CLOSE' },
  );
  t.equal(got, 'last words');
  t.ok(stream.destroyed);
});
