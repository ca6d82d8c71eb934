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
  const all = await Promise.all(sizes.map((size) => yaml.read(document(size), 'a')));
  t.strictSame(
    all.map(({ json }) => Object.keys(JSON.parse(json.toString())).length),
    sizes,
  );
  t.same(JSON.parse((await yaml.read(Buffer.from('# nothing'), 'a')).json.toString()), null);
});

t.test('the event loop is not blocked', async (t) => {
  const yaml = startReader(t);
  let done = false;
  const read = yaml.read(document(20_000), 'a').then(() => {
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
  await t.rejects(yaml.read(Buffer.from('a: 1\nb: c: d\n'), 'a'), {
    name: 'DecodeError',
    message: 'yaml: line 2: mapping values are not allowed in this context',
  });
  t.same((await yaml.read(Buffer.from('a: 1\n---\na: 2\n'), 'a')).json.toString(), '{"a":1}', 'the first of several');
  t.same((await yaml.read(Buffer.from('a: 1'), 'a')).json.toString(), '{"a":1}');
  const { json, repeated } = await yaml.read(Buffer.from('a: 1\na: 2\n'), 'a');
  t.same([json.toString(), repeated], ['{"a":2}', ['line 2: key "a" already set in map']]);
});

t.test('a document that is too large or takes too long is refused', async (t) => {
  const small = startReader(t, { maxBytes: 100 });
  await t.rejects(small.read(document(100), 'a'), { code: 413, message: 'Request entity too large: limit is 100' });
  const hasty = startReader(t, { timeoutMs: 1 });
  await t.rejects(hasty.read(document(200_000), 'a'), { code: 413 });
});

t.test('a document that takes long does not delay others', async (t) => {
  const timers = new Map<number, () => void>();
  const setTimer: Clock['setTimer'] = (fire, ms) => {
    timers.set(ms, fire);
    return { cancel: () => undefined };
  };
  const yaml = startReader(t, { quickMs: 5000, timeoutMs: 6000, clock: { ...realClock, setTimer } });
  const long = Promise.allSettled([yaml.read(document(200_000), 'a')]);
  const short = yaml.read(Buffer.from('a: 1'), 'b');
  timers.get(5000)?.();
  t.equal((await short).json.toString(), '{"a":1}', 'the next document has a new thread');
  t.ok(timers.has(6000), 'the long one is decoded apart');
  timers.get(6000)?.();
  t.match(await long, [{ status: 'rejected', reason: { code: 413 } }]);
});

t.test('a document that takes long is decoded in the end', async (t) => {
  const yaml = startReader(t, { quickMs: 1 });
  const { json } = await yaml.read(document(5000), 'a');
  t.equal(Object.keys(JSON.parse(json.toString())).length, 5000);
});

t.test('users take turns', async (t) => {
  const yaml = startReader(t);
  const order: string[] = [];
  const users = ['a', 'a', 'a', 'b', 'c'];
  await Promise.all(users.map((user) => yaml.read(document(100), user).then(() => order.push(user))));
  t.same(order, ['a', 'a', 'b', 'c', 'a'], 'the first is begun at once');
});

t.test('the number of documents is limited, and each user has a part', async (t) => {
  const yaml = startReader(t, { maxDocuments: 4 });
  const users = ['a', 'a', 'a', 'b', 'b', 'c'];
  const all = await Promise.allSettled(users.map((user) => yaml.read(document(500), user)));
  t.strictSame(
    all.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
  t.match(all[2], { reason: { code: 429, status: { details: { retryAfterSeconds: 1 } } } });
  t.ok(await yaml.read(document(1), 'a'));
});

t.test('closing refuses pending documents', async (t) => {
  const yaml = startReader(t);
  const reads = Promise.allSettled([yaml.read(document(20_000), 'a'), yaml.read(document(1), 'a')]);
  await yaml.close();
  const refused = { status: 'rejected', reason: { code: 503 } };
  t.match(await reads, [refused, refused]);
  await t.rejects(yaml.read(document(1), 'a'), { code: 503 });
});
