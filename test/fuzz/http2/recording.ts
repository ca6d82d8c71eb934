/** Records the bytes that a real etcd sends. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { startEtcd } from '#test/etcd.js';

/** One recording per connection: writes, paged reads, failed compares, and events. */
export async function recordEtcd(): Promise<Buffer[]> {
  const etcd = await startEtcd();
  const { port } = new URL(etcd.endpoint);
  const recordings: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const parts: Buffer[] = [];
    recordings.push(parts);
    const upstream = connect(Number(port), '127.0.0.1');
    upstream.on('data', (chunk) => parts.push(chunk));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
  try {
    const prefix = '/fuzz/';
    const watching = new AbortController();
    const events = store.watch({ start: prefix, end: prefixEnd(prefix), fromRevision: 1n, signal: watching.signal });
    const value = Buffer.alloc(2000, 'v');
    for (let i = 0; i < 20; i++) await store.create(`${prefix}${i}`, value);
    await store.create(`${prefix}0`, value);
    await store.range({ start: prefix, end: prefixEnd(prefix) });
    let seen = 0;
    for await (const batch of events) {
      seen += batch.type === 'events' ? batch.events.length : 0;
      if (seen >= 20) break;
    }
    watching.abort();
  } finally {
    await store.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await etcd.stop();
  }
  return recordings.map((parts) => Buffer.concat(parts)).filter((bytes) => bytes.length > 0);
}
