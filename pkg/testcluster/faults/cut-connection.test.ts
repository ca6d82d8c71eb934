import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { CutConnection } from '#testcluster/faults/cut-connection.js';

const head = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n';

/** Everything that arrives before the connection ends. */
async function received(end: Duplex): Promise<string> {
  let text = '';
  end.on('data', (part: Buffer) => {
    text += part.toString('latin1');
  });
  await once(end, 'close');
  return text;
}

t.test('bytes are counted from the end of the head, however it is split', async (t) => {
  const all = `${head}0123456789`;
  for (const size of [1, 3, 7, 1000])
    for (const bytes of [0, 1, 9, 10]) {
      const [client, server] = duplexPair();
      const connection = new CutConnection(server, { bytes, ms: undefined, clock: new VirtualClock() });
      connection.on('error', () => undefined);
      const text = received(client);
      client.on('error', () => undefined);
      for (let at = 0; at < all.length && !connection.destroyed; at += size)
        await new Promise<void>((done) => {
          connection.once('close', done);
          connection.write(all.slice(at, at + size), () => done());
        });
      connection.destroy();
      client.destroy();
      t.equal(await text, all.slice(0, head.length + bytes), `${bytes} bytes in parts of ${size}`);
    }
});

t.test('time is counted from the end of the head', async (t) => {
  const clock = new VirtualClock();
  const [, server] = duplexPair();
  const connection = new CutConnection(server, { bytes: undefined, ms: 1000, clock });
  await clock.advance(5000);
  t.notOk(connection.destroyed, 'the backend may be slow');
  connection.write(`${head}first`);
  await clock.advance(999);
  t.notOk(connection.destroyed);
  await clock.advance(1);
  t.ok(connection.destroyed);
  t.ok(server.destroyed, 'with the connection itself');
});

t.test('what the client sends arrives, and its end too', async (t) => {
  const [client, server] = duplexPair();
  const connection = new CutConnection(server, { bytes: 5, ms: undefined, clock: new VirtualClock() });
  let text = '';
  connection.on('data', (part: Buffer) => {
    text += part.toString();
  });
  client.end('from the client');
  await once(connection, 'end');
  t.equal(text, 'from the client');
  connection.destroy();
});
