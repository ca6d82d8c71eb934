import { PassThrough } from 'node:stream';
import t from 'tap';
import { readBody } from '#http/server/exchange.js';

function reading(length: number | undefined) {
  const source = new PassThrough();
  let refused = 0;
  const body = readBody({ source, length }, 10, () => {
    refused += 1;
  });
  return { source, body, refused: () => refused };
}

t.test('a body is read completely, in any number of parts', async (t) => {
  for (const parts of [[], ['abc'], ['a', 'bcdef', 'ghij']]) {
    const { source, body, refused } = reading(undefined);
    for (const part of parts) source.write(part);
    source.end();
    t.equal(String(await body), parts.join(''));
    t.equal(refused(), 0);
  }
});

t.test('an oversized body is refused once, when announced or when it arrives', async (t) => {
  const announced = reading(11);
  await t.rejects(announced.body, { message: /limit is 10/ });
  t.equal(announced.refused(), 1);
  const { source, body, refused } = reading(undefined);
  for (const part of ['abcdef', 'ghijk', 'l']) source.write(part);
  source.end();
  await t.rejects(body, { message: /limit is 10/ });
  source.resume();
  await new Promise(setImmediate);
  t.equal(refused(), 1);
});

t.test('an incomplete body is a bad request', async (t) => {
  const { source, body } = reading(3);
  source.write('ab');
  source.destroy();
  await t.rejects(body, { message: /broken off/ });
  const gone = new PassThrough();
  gone.destroy();
  await t.rejects(
    readBody({ source: gone, length: undefined }, 10, () => undefined),
    { message: /broken off/ },
  );
});
