import t from 'tap';
import { copyMemory } from '#apimachinery/copy-memory.js';

t.test('bytes are the same from and to memory of any kind', async (t) => {
  const memories = [(size: number) => new ArrayBuffer(size), (size: number) => new SharedArrayBuffer(size)];
  for (const from of memories) {
    for (const to of memories) {
      for (const length of [0, 1, 64, 65, 1000, 70_000]) {
        const source = new Uint8Array(from(length + 10), 5, length).map((_, i) => i % 251);
        const shared = new Uint8Array(from(length + 10), 5, length);
        shared.set(source);
        const target = Buffer.from(to(length + 20));
        copyMemory(shared, target, 7);
        const expected = Buffer.concat([Buffer.alloc(7), source, Buffer.alloc(13)]);
        t.ok(target.equals(expected), `${length} bytes`);
      }
    }
  }
});

t.test('what there is no room for is refused, and nothing is copied', async (t) => {
  for (const memory of [new ArrayBuffer(100), new SharedArrayBuffer(100)]) {
    const target = Buffer.alloc(150);
    const source = new Uint8Array(memory).fill(1);
    t.throws(() => copyMemory(source, target, 51), RangeError);
    t.ok(target.equals(Buffer.alloc(150)));
  }
});
