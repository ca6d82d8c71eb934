import { Writable } from 'node:stream';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { FrameWriter } from '#http/http2/frame-writer.js';
import { frameHeadBytes, maxWindow } from '#http/http2/frames.js';
import { Outgoing, OutgoingStream, StreamTable } from '#http/http2/streams.js';

/** Payloads of all frames, and the sizes of their writes. */
async function sent(bytes: Buffer, left?: () => void, frameBytes = 16_384, windows = maxWindow) {
  const writes: Buffer[] = [];
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes.push(Buffer.from(chunk));
      setImmediate(done);
    },
  }) as unknown as ConstructorParameters<typeof FrameWriter>[0];
  const outgoing = new Outgoing<OutgoingStream>(socket, new FrameWriter(socket), () => undefined);
  outgoing.frameBytes = frameBytes;
  if (windows > 65_535) outgoing.grow(windows - 65_535);
  const stream = new OutgoingStream();
  outgoing.opened(stream);
  stream.id = 1;
  stream.window = windows;
  stream.add(bytes, left);
  stream.ends = true;
  outgoing.pump(stream);
  while (!stream.done || socket.writableLength > 0 || writes.length === 0) {
    await endOfTurn();
    // A peer that accepts data in small steps.
    if (stream.done || stream.window > 0) continue;
    stream.window += 1000;
    outgoing.grow(1000);
  }
  const all = Buffer.concat(writes);
  const payloads: Buffer[] = [];
  for (let at = 0; at < all.length; ) {
    const length = all.readUIntBE(at, 3);
    payloads.push(all.subarray(at + frameHeadBytes, at + frameHeadBytes + length));
    at += frameHeadBytes + length;
  }
  return { payloads, sizes: writes.map(({ length }) => length) };
}

const bytes = Buffer.from(Array.from({ length: 1_300_000 }, (_, i) => (i * 7919) % 256));

void t.test('large data whose sender learns when it has left is written in large pieces', async (t) => {
  let left = 0;
  const { payloads, sizes } = await sent(bytes, () => left++);
  t.ok(Buffer.concat(payloads).equals(bytes));
  t.ok(payloads.every(({ length }) => length <= 16_384));
  t.ok(Math.max(...sizes) > 512 * 1024, String(sizes));
  t.equal(left, 1);
});

void t.test('other data is limited by small writes, whatever the peer accepts', async (t) => {
  for (const frameBytes of [16_384, 2 ** 24 - 1]) {
    const { payloads, sizes } = await sent(bytes, undefined, frameBytes);
    t.ok(Buffer.concat(payloads).equals(bytes));
    t.ok(Math.max(...sizes) <= 64 * 1024, String(sizes));
  }
});

void t.test('the stream table behaves like a Map', async (t) => {
  const seed = 20221122;
  const random = seededRandom(seed);
  const table = new StreamTable<{ readonly id: number }>();
  const map = new Map<number, { readonly id: number }>();
  let next = 1;
  for (let step = 0; step < 20_000; step++) {
    // Phases with more additions alternate with phases of more deletions.
    if (random() < (step % 2000 < 1000 ? 0.6 : 0.4)) {
      const stream = { id: next };
      // Gaps between the ids.
      next += random() < 0.1 ? 2 * 16 : 2;
      table.add(stream);
      map.set(stream.id, stream);
    } else {
      const ids = [...map.keys()];
      const id = random() < 0.1 ? next + 2 : (ids[Math.floor(random() * ids.length)] ?? 1);
      if (table.delete(id) !== map.delete(id)) return void t.fail(`seed ${seed}, step ${step}: delete ${id}`);
    }
    if (table.size !== map.size) return void t.fail(`seed ${seed}, step ${step}: size`);
    if (step % 50 !== 0) continue;
    for (let id = 1; id <= next; id += 2) {
      if (table.get(id) !== map.get(id)) return void t.fail(`seed ${seed}, step ${step}: get ${id}`);
    }
  }
  const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id;
  t.same(table.values().sort(byId), [...map.values()].sort(byId));
  table.clear();
  t.equal(table.size, 0);
  t.same(table.values(), []);
  t.equal(table.has(1), false);
});
