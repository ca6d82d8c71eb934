import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { type Bytes, begins, copyBytes, joined } from '#storage/segments/segmented.js';
import { SharedBytes } from '#storage/segments/shared-bytes.js';
import { maxStretches, Template } from '#storage/segments/template.js';
import { Templates } from '#storage/segments/templates.js';

/** What comes behind the first `from` bytes. */
function behind(bytes: Bytes, from: number): Buffer {
  const rest = Buffer.alloc(bytes.length - from);
  copyBytes(bytes, rest, 0, from);
  return rest;
}

/** Whole numbers below a limit, the same for the same seed. */
function numbers(seed: number): (limit: number) => number {
  const random = seededRandom(seed);
  return (limit) => Math.floor(random() * limit);
}

/** Bytes of a few letters, so that blocks are found where they do not belong. */
function text(random: (limit: number) => number, length: number, letters: number): Buffer {
  return Buffer.from(Array.from({ length }, () => 97 + random(letters)));
}

/** With stretches taken out, put in, changed and moved. */
function changed(random: (limit: number) => number, bytes: Buffer): Buffer {
  let result = bytes;
  for (let i = random(12); i > 0; i--) {
    const [a = 0, b = 0] = [random(result.length + 1), random(result.length + 1)].sort((x, y) => x - y);
    const moved = [result.subarray(0, a), result.subarray(b), result.subarray(a, b)];
    const replaced = [
      result.subarray(0, a),
      text(random, random(60), 26),
      result.subarray(Math.min(b, a + random(60))),
    ];
    result = Buffer.concat(random(4) === 0 ? moved : replaced);
  }
  return result;
}

t.test('whatever is made of a template comes back to the byte', (t) => {
  const seed = Number(process.env['SEED'] ?? 20_230_911);
  t.comment(`seed ${seed}`);
  const random = numbers(seed);
  let shared = 0;
  for (let round = 0; round < 400; round++) {
    const base = text(random, random(5000), 1 + random(26));
    const template = new Template(base);
    for (let i = 0; i < 4; i++) {
      const bytes = changed(random, base);
      const made = SharedBytes.of(bytes, template, bytes.length);
      if (made === undefined) continue;
      shared++;
      const from = random(bytes.length + 1);
      const places = Buffer.alloc(bytes.length + 2, '#');
      made.copyTo(places, 1);
      const same =
        joined(made).equals(bytes) &&
        places.subarray(1, -1).equals(bytes) &&
        places[0] === 35 &&
        places.at(-1) === 35 &&
        behind(made, from).equals(bytes.subarray(from)) &&
        begins(made, bytes.subarray(0, from)) &&
        !begins(made, Buffer.concat([bytes, Buffer.from('x')]));
      if (!same) t.fail(`seed ${seed}, round ${round}: ${bytes}`);
    }
  }
  t.ok(shared > 500, `${shared} were shared`);
  t.end();
});

const pod = (n: number, spec = 'x', status = '') =>
  Buffer.from(
    JSON.stringify({
      kind: 'Pod',
      metadata: { name: `web-${n}`, uid: `6d4cf56d-b6c0-4ffe-8000-${String(n * 7919).padStart(12, '0')}` },
      spec: { nodeName: `node-${n % 17}`, env: Array.from({ length: 60 }, (_, i) => `variable ${i} of ${spec}`) },
      status: { text: status.repeat(40), podIP: `10.0.0.${n}` },
    }),
  );
const podKey = (n: number, set = 'web') => `/registry/pods/default/${set}-${n}`;

t.test('objects of one template keep little but what is their own', (t) => {
  const templates = new Templates({ maxBytes: 1e6 });
  const first = pod(0);
  t.equal(templates.share(podKey(0), 'json', first), undefined, 'the first is the template');
  for (let n = 1; n < 50; n++) {
    const made = templates.share(podKey(n), 'json', pod(n));
    t.equal(made?.template.bytes, first);
    t.ok(made !== undefined && made.ownLength < 250 && made.ownLength < made.length / 8, `${made?.ownLength}`);
  }
  t.test('also where their names have nothing in common', async (t) => {
    t.equal(templates.share('/registry/pods/other/alone', 'json', pod(99))?.template.bytes, first);
  });
  t.test('what is in a place for a moment becomes a template elsewhere', async (t) => {
    const place = pod(1, 'z');
    const kept = Buffer.from(place);
    t.equal(
      templates.share('/registry/others/a/b', 'json', place, () => kept),
      undefined,
    );
    place.fill(0);
    const made = templates.share('/registry/others/a/c', 'json', pod(2, 'z'), () => place);
    t.equal(made?.template.bytes, kept);
  });
  t.test('each form has templates of its own', async (t) => {
    t.equal(templates.share(podKey(50), 'protobuf v1', pod(50)), undefined);
  });
  t.test('a new state of them becomes a template beside the old one', async (t) => {
    const running = pod(51, 'x', 'running in all its glory ');
    templates.share(podKey(51), 'json', running);
    t.equal(templates.share(podKey(52), 'json', pod(52, 'x', 'running in all its glory '))?.template.bytes, running);
    const ownLength = templates.share(podKey(53), 'json', pod(53))?.ownLength ?? 1e9;
    t.ok(ownLength < 250, `${ownLength}`);
  });
  t.end();
});

t.test('what objects of one template begin with is told of each of them', async (t) => {
  const templates = new Templates({ maxBytes: 1e6 });
  const prefixes = ['{"kind":"Pod",', '{"kind":"Pot",'].map((text) => Buffer.from(text));
  // The first stretch of some begins with their own bytes, and that of others elsewhere in the template.
  const other = (n: number) =>
    Buffer.from(
      `${' '.repeat(n % 3)}${pod(n)
        .toString()
        .replace('Pod', n % 2 === 0 ? 'Pod' : 'Pot')}`,
    );
  templates.share(podKey(0), 'json', pod(0));
  for (let n = 1; n < 60; n++) {
    const bytes = other(n);
    const made = templates.share(podKey(n), 'json', bytes);
    t.ok(made, `${n} is shared`);
    for (const prefix of prefixes)
      t.equal(
        made !== undefined && begins(made, prefix),
        bytes.subarray(0, prefix.length).equals(prefix),
        `${n} ${prefix}`,
      );
  }
});

t.test('small and very large ones, and those unlike all others, stay as they are', async (t) => {
  const templates = new Templates({ maxBytes: 1e6 });
  const random = numbers(1);
  for (const length of [0, 1, 100, 70_000]) {
    const bytes = text(random, length, 26);
    for (let i = 0; i < 2; i++) t.equal(templates.share(podKey(i), 'json', bytes), undefined, `${length} bytes`);
  }
  for (let i = 0; i < 20; i++) t.equal(templates.share(podKey(i), 'json', text(random, 3000, 26)), undefined);
});

t.test('of large ones only those are compared that seem to be alike', async (t) => {
  const random = numbers(5);
  const templates = new Templates({ maxBytes: 1e7 });
  const base = text(random, 50_000, 26);
  templates.share(podKey(0, 'x'), 'json', base);
  for (const [changed, isShared] of [
    [0.1, true],
    [0.4, true],
    [0.9, false],
  ] as const) {
    const bytes = Buffer.from(base);
    // In pieces everywhere, between which all has moved.
    const pieces = Array.from({ length: 50 }, (_, i) => bytes.subarray(i * 1000, (i + 1) * 1000));
    const mixed = Buffer.concat(
      pieces.flatMap((piece) => [text(random, changed * 1000 + 3, 26), piece.subarray(changed * 1000)]),
    );
    const made = templates.share(podKey(1, `y${changed}`), `json`, mixed);
    t.equal(made?.template.bytes, isShared ? base : undefined, `${changed}`);
    if (made !== undefined) t.ok(joined(made).equals(mixed));
  }
});

t.test('what is remembered is bounded, whatever comes', async (t) => {
  const maxBytes = 300_000;
  const templates = new Templates({ maxBytes });
  const random = numbers(2);
  for (let i = 0; i < 500; i++) {
    templates.share(podKey(i % 7, `set${i}`), `form ${i % 3}`, text(random, 600 + random(3000), 26));
    if (templates.bytes > maxBytes) t.fail(`${templates.bytes} bytes after ${i}`);
  }
});

t.test('nothing is made of a template that is much larger', async (t) => {
  const templates = new Templates({ maxBytes: 1e6 });
  const large = text(numbers(3), 20_000, 26);
  templates.share(podKey(0), 'json', large);
  t.equal(templates.share(podKey(1), 'json', large.subarray(0, 2000)), undefined);
});

t.test('a template has a bounded number of stretches; what comes then is its own', async (t) => {
  const random = numbers(4);
  const base = text(random, 4000, 26);
  const template = new Template(base);
  for (let i = 0; i < 2000; i++) {
    const at = random(3000);
    const bytes = Buffer.concat([base.subarray(0, at), Buffer.from('!'), base.subarray(at + 56 + random(400))]);
    const made = SharedBytes.of(bytes, template, bytes.length);
    if (made !== undefined && !joined(made).equals(bytes)) t.fail(`at ${at}`);
  }
  t.equal(template.stretches.length, maxStretches);
});

t.test('blocks of equal hashes are told apart by their bytes', async (t) => {
  // All blocks but one are the same, and more than are looked at.
  const base = Buffer.concat([Buffer.alloc(4000, 'a'), Buffer.from('b'.repeat(64)), Buffer.alloc(4000, 'a')]);
  const template = new Template(base);
  for (const bytes of [base, base.subarray(3), Buffer.alloc(6000, 'a'), Buffer.alloc(6000, 'ab')]) {
    const made = SharedBytes.of(bytes, template, bytes.length);
    if (made !== undefined) t.ok(joined(made).equals(bytes));
  }
});
