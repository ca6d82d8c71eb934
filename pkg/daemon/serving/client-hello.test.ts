import { once } from 'node:events';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { connect } from 'node:tls';
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { maxHelloBytes, readHello } from '#daemon/serving/client-hello.js';

/** The first flight of Node.js's client. */
async function helloOf(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const client = connect({ socket: connectTcp(address.port, '127.0.0.1'), servername });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => undefined);
  let bytes = Buffer.alloc(0);
  while (readHello(bytes).state === 'incomplete') {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    bytes = Buffer.concat([bytes, chunk]);
  }
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake message in records of `size` bytes. */
function fragmented(hello: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 5; at < hello.length; at += size) {
    const part = hello.subarray(at, at + size);
    const head = Buffer.from(hello.subarray(0, 5));
    head.writeUInt16BE(part.length, 3);
    parts.push(head, part);
  }
  return Buffer.concat(parts);
}

t.test('the server name of a ClientHello', async (t) => {
  const hello = await helloOf('Shop.Example.com');
  const named = { state: 'complete', serverName: 'shop.example.com' };
  t.same(readHello(hello), named, 'in lower case');
  t.same(readHello(await helloOf('')), { state: 'complete', serverName: undefined }, 'without a name');
  for (const size of [1, 7, 100]) t.same(readHello(fragmented(hello, size)), named, `in records of ${size} bytes`);
  for (let length = 0; length < hello.length; length += 1) {
    t.same(readHello(hello.subarray(0, length)), { state: 'incomplete' }, `${length} bytes`);
  }
});

t.test('other bytes name no server', async (t) => {
  const nameless = { state: 'complete', serverName: undefined };
  const hello = await helloOf('a.test');
  const rows: [string, Buffer][] = [
    ['plain HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['an alert', Buffer.from([21, 3, 1, 0, 2, 1, 0])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['a message without a body', Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0])],
    ['a message that is too long', Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])],
    ['records without an end', fragmented(Buffer.concat([hello.subarray(0, 5), Buffer.alloc(maxHelloBytes, 1)]), 1)],
  ];
  for (const [name, bytes] of rows) t.same(readHello(bytes), nameless, name);
  const odd = Buffer.from(hello);
  odd[odd.indexOf('a.test')] = 0;
  t.same(readHello(odd), nameless, 'a name with a zero byte');
});

t.test('random changes of a ClientHello never throw', async (t) => {
  const random = seededRandom(37);
  const below = (limit: number) => Math.floor(random() * limit);
  const hello = await helloOf('a.test');
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = Buffer.from(hello);
    for (let change = 0; change < 4; change += 1) bytes[below(bytes.length)] = below(256);
    const { state } = readHello(bytes);
    if (state !== 'complete' && state !== 'incomplete') t.fail(bytes.toString('hex'));
  }
});
