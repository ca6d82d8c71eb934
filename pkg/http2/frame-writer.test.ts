import { Writable } from 'node:stream';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import t from 'tap';
import { FrameWriter } from '#http2/frame-writer.js';

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
  // Nothing is ever read from it.
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

void t.test('much leaves at once, and behind the end nothing', async (t) => {
  const { frames, written } = writer();
  frames.send(Buffer.alloc(10));
  frames.send(Buffer.alloc(64 * 1024));
  const sum = () => written.reduce((total, length) => total + length, 0);
  t.equal(sum(), 10 + 64 * 1024);
  frames.send(Buffer.alloc(5));
  frames.flush();
  t.equal(sum(), 15 + 64 * 1024);
  frames.send(Buffer.alloc(6));
  frames.end();
  frames.send(Buffer.alloc(7));
  await endOfTurn();
  t.equal(sum(), 15 + 64 * 1024, 'nor what waits for the end of the turn');
});
