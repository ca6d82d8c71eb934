import { Writable } from 'node:stream';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import t from 'tap';
import { FrameWriter } from '#http/http2/frame-writer.js';

function writer(): { readonly frames: FrameWriter; readonly written: number[] } {
  const written: number[] = [];
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.length);
      done();
    },
    writev(chunks, done) {
      written.push(chunks.reduce((sum, { chunk }) => sum + (chunk as Buffer).length, 0));
      done();
    },
  });
  // Its data is never read.
  return { frames: new FrameWriter(socket as unknown as ConstructorParameters<typeof FrameWriter>[0]), written };
}

void t.test('calls of one turn leave in one write', async (t) => {
  const { frames, written } = writer();
  frames.send(Buffer.alloc(10));
  await Promise.resolve();
  frames.send(Buffer.alloc(20));
  await new Promise<void>((resolve) => process.nextTick(resolve));
  frames.send(Buffer.alloc(30));
  t.same(written, []);
  await endOfTurn();
  t.same(written, [60]);
  frames.send(Buffer.alloc(1));
  await endOfTurn();
  t.same(written, [60, 1]);
});

void t.test('large data leaves immediately, and nothing after the end', async (t) => {
  const { frames, written } = writer();
  frames.send(Buffer.alloc(10));
  frames.send(Buffer.alloc(64 * 1024));
  const sum = () => written.reduce((total, length) => total + length, 0);
  t.equal(sum(), 64 * 1024, 'one full write leaves immediately');
  frames.send(Buffer.alloc(5));
  frames.flush();
  t.equal(sum(), 15 + 64 * 1024);
  frames.send(Buffer.alloc(6));
  frames.end();
  frames.send(Buffer.alloc(7));
  await endOfTurn();
  t.equal(sum(), 15 + 64 * 1024, 'queued bytes are dropped, too');
});

void t.test('one write at a time, of whole TLS records; senders learn when their bytes are written', async (t) => {
  const written: Buffer[] = [];
  const done: ((error?: Error) => void)[] = [];
  const socket = new Writable({
    write(chunk: Buffer, _encoding, wrote) {
      written.push(Buffer.from(chunk));
      done.push(wrote);
    },
  });
  const frames = new FrameWriter(socket as unknown as ConstructorParameters<typeof FrameWriter>[0]);
  const reported: number[] = [];
  const parts = Array.from({ length: 200 }, (_, i) => Buffer.alloc(1 + ((i * 397) % 3000), i));
  const large = Buffer.alloc(200_000, 'x');
  for (const [i, part] of [...parts, large, ...parts].entries()) frames.send(part, () => reported.push(i));
  await endOfTurn();
  t.equal(written.length, 1);
  t.same(reported, []);
  while (done.length > 0) {
    done.shift()?.();
    await endOfTurn();
  }
  t.ok(Buffer.concat(written).equals(Buffer.concat([...parts, large, ...parts])));
  t.same(
    reported,
    Array.from({ length: 401 }, (_, i) => i),
  );
  const larger = written.slice(0, -1).filter((each) => each.length !== 64 * 1024);
  // The previous write had room for the rest.
  t.ok(larger.length === 1 && larger.every((each) => each.length > 100_000 && each.every((byte) => byte === 120)));
  t.equal(frames.waiting, 0);
});

void t.test('joined frames use pooled memory', async (t) => {
  const { frames, written } = writer();
  const buffers: ArrayBufferLike[] = [];
  const fill = (part: Buffer) => {
    t.equal(part.length, 300_000);
    part.fill(1);
    buffers.push(part.buffer);
  };
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => frames.sendPart(300_000, fill, resolve));
  t.same(written, [300_000, 300_000, 300_000], 'each part has its own write');
  t.equal(new Set(buffers).size, 1);
  frames.send(Buffer.alloc(2 ** 20));
  await endOfTurn();
  t.ok(Math.max(...written) < 2 ** 20, 'no write exceeds the limit of a part');
});

void t.test('dropped bytes are reported only after the current write', async (t) => {
  const done: ((error?: Error) => void)[] = [];
  const socket = new Writable({ write: (_chunk, _encoding, wrote) => void done.push(wrote) });
  const frames = new FrameWriter(socket as unknown as ConstructorParameters<typeof FrameWriter>[0]);
  const written: string[] = [];
  frames.send(Buffer.alloc(200_000), () => written.push('large'));
  frames.send(Buffer.alloc(10), () => written.push('small'));
  frames.end();
  t.same(written, []);
  done.shift()?.();
  await endOfTurn();
  t.same(written, ['large', 'small']);
});
