import t, { type Test } from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { YamlReader, type YamlReaderOptions } from '#apiserver/bodies/yaml-reader.js';

const maxBytes = 1024 * 1024;
const document = (keys: number) => Buffer.from(Array.from({ length: keys }, (_, i) => `key${i}: é${i}\n`).join(''));

function startReader(t: Test, options: Partial<YamlReaderOptions> = {}): YamlReader {
  const reader = new YamlReader({ clock: realClock, maxBytes, ...options });
  t.teardown(() => reader.close());
  return reader;
}

t.test('documents are converted to JSON in order', async (t) => {
  const yaml = startReader(t);
  const sizes = [2000, 1, 10];
  const all = await Promise.all(sizes.map((size) => yaml.read(document(size))));
  t.strictSame(
    all.map(({ json }) => Object.keys(JSON.parse(json.toString())).length),
    sizes,
  );
  t.same(JSON.parse((await yaml.read(Buffer.from('# nothing'))).json.toString()), null);
});

t.test('the event loop is not blocked', async (t) => {
  const yaml = startReader(t);
  let done = false;
  const read = yaml.read(document(20_000)).then(() => {
    done = true;
  });
  let turns = 0;
  while (!done) {
    await new Promise(setImmediate);
    turns++;
  }
  await read;
  t.ok(turns > 10, `${turns} turns`);
});

t.test('errors are the same as without a thread', async (t) => {
  const yaml = startReader(t);
  await t.rejects(yaml.read(Buffer.from('a: 1\nb: c: d\n')), {
    name: 'DecodeError',
    message: 'yaml: line 2: mapping values are not allowed in this context',
  });
  t.same((await yaml.read(Buffer.from('a: 1\n---\na: 2\n'))).json.toString(), '{"a":1}', 'the first of several');
  t.same((await yaml.read(Buffer.from('a: 1'))).json.toString(), '{"a":1}');
  const { json, repeated } = await yaml.read(Buffer.from('a: 1\na: 2\n'));
  t.same([json.toString(), repeated], ['{"a":2}', ['line 2: key "a" already set in map']]);
});

t.test('a document that is too large or takes too long is refused', async (t) => {
  const small = startReader(t, { maxBytes: 100 });
  await t.rejects(small.read(document(100)), { code: 413, message: 'Request entity too large: limit is 100' });
  const hasty = startReader(t, { timeoutMs: 1 });
  await t.rejects(hasty.read(document(200_000)), { code: 413 });
});

t.test('after a timeout, the next document gets a new thread', async (t) => {
  const timers: (() => void)[] = [];
  const setTimer: Clock['setTimer'] = (fire, ms) => {
    if (ms === 5000) timers.push(fire);
    return { cancel: () => undefined };
  };
  const yaml = startReader(t, { timeoutMs: 5000, clock: { ...realClock, setTimer } });
  const both = Promise.allSettled([yaml.read(document(200_000)), yaml.read(Buffer.from('a: 1'))]);
  timers[0]?.();
  const [long, short] = await both;
  t.match(long, { status: 'rejected', reason: { code: 413 } });
  t.equal(short.status, 'fulfilled');
});

t.test('the number of waiting documents is limited', async (t) => {
  const yaml = startReader(t, { maxWaiting: 2 });
  const all = await Promise.allSettled(Array.from({ length: 5 }, () => yaml.read(document(500))));
  t.strictSame(
    all.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  );
  t.match(all[4], { reason: { code: 429, status: { details: { retryAfterSeconds: 1 } } } });
});

t.test('closing refuses pending documents', async (t) => {
  const yaml = startReader(t);
  const reads = Promise.allSettled([yaml.read(document(20_000)), yaml.read(document(1))]);
  await yaml.close();
  const refused = { status: 'rejected', reason: { code: 503 } };
  t.match(await reads, [refused, refused]);
  await t.rejects(yaml.read(document(1)), { code: 503 });
});
