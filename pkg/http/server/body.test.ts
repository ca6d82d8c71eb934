import t from 'tap';
import { type Body, type BodySink, IterableBody, PartsBody, SourceBody } from '#http/server/body.js';

const parts = ['a', 'bc', 'def'].map((text) => Buffer.from(text));

class Given extends SourceBody {
  start(sink: BodySink): void {
    for (const part of parts) sink.part(part);
    sink.ended();
  }

  resume(): void {}

  stop(): void {}
}

async function* items(): AsyncGenerator<Buffer> {
  yield* parts;
}

const bodies: Record<string, () => Exclude<Body, Buffer>> = {
  'parts at hand': () => new PartsBody(parts),
  'pieces that come': () => new Given(),
  'items of an iterable': () => new IterableBody(items()),
};

for (const [name, body] of Object.entries(bodies)) {
  t.test(`${name}: listeners observe all parts of an in-process reader, and one end`, async (t) => {
    const followed = body();
    const heard: string[] = [];
    let ends = 0;
    followed.follow({ part: (bytes) => heard.push(String(bytes)), ended: () => ends++ });
    followed.follow({ ended: () => ends++ });
    let onlyEnds = 0;
    followed.onEnd(() => onlyEnds++);
    const read: string[] = [];
    for await (const piece of followed) read.push(String(piece));
    t.equal(read.join(''), 'abcdef');
    t.same(heard, read);
    t.equal(ends, 2);
    followed.over();
    t.equal(onlyEnds, 1, 'those of the end alone, too, and once');

    const left = body();
    left.follow({ ended: () => ends++ });
    for await (const _ of left) break;
    t.equal(ends, 3, 'a reader that stops early ends the body, too');
  });
}

t.test('a body that fails has an end, too', async (t) => {
  const broken = new IterableBody(
    (async function* () {
      yield* parts;
      throw new Error('broken');
    })(),
  );
  let ends = 0;
  broken.follow({ ended: () => ends++ });
  const read = async () => {
    for await (const _ of broken);
  };
  await t.rejects(read(), { message: 'broken' });
  t.equal(ends, 1);
});
