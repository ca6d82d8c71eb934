import { randomBytes } from 'node:crypto';
import t from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { DeflatedBytes, maxOwnBytes, PackedBytes } from '#storage/packing/packed-bytes.js';
import { Packing } from '#storage/packing/packing.js';
import { maxStretches, Template } from '#storage/packing/template.js';
import type { EntryBytes } from '#storage/resource-storage.js';

const scratch = Buffer.alloc(maxOwnBytes);

/** Copies the bytes after the first `from`. */
function behind(bytes: EntryBytes, from = 0): Buffer {
  const rest = Buffer.alloc(bytes.length - from);
  if (bytes.copy(rest, 0, from) !== rest.length) throw new Error('not all was copied');
  return rest;
}

/** Copies into a buffer with room for only the first bytes. */
function beginning(bytes: EntryBytes, length: number): Buffer {
  const first = Buffer.alloc(length + 1);
  if (bytes.copy(first, 1) !== Math.min(length, bytes.length)) throw new Error('not as many as there is room for');
  return first.subarray(1);
}

/** The template; undefined for uncompacted bytes. */
function templateOf(bytes: EntryBytes): Template | undefined {
  return bytes instanceof PackedBytes ? bytes.template : undefined;
}

function ownLength(bytes: EntryBytes): number {
  return bytes instanceof PackedBytes ? bytes.ownLength : bytes.length;
}

/** Pseudo-random integers below a limit. */
function numbers(seed: number): (limit: number) => number {
  const random = seededRandom(seed);
  return (limit) => Math.floor(random() * limit);
}

/** Bytes of a small alphabet, so that blocks match at wrong offsets. */
function text(random: (limit: number) => number, length: number, letters: number): Buffer {
  return Buffer.from(Array.from({ length }, () => 97 + random(letters)));
}

/** With parts removed, inserted, changed and moved. */
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

t.test('packed bytes are restored exactly', (t) => {
  const seed = Number(process.env['SEED'] ?? 20_230_911);
  t.comment(`seed ${seed}`);
  const random = numbers(seed);
  let shared = 0;
  for (let round = 0; round < 400; round++) {
    const base = text(random, random(5000), 1 + random(26));
    const template = new Template(base, scratch);
    for (let i = 0; i < 4; i++) {
      const bytes = changed(random, base);
      const packed = PackedBytes.of(bytes, template, bytes.length);
      if (packed === undefined) continue;
      shared++;
      const from = random(bytes.length + 1);
      const places = Buffer.alloc(bytes.length + 2, '#');
      packed.copy(places.subarray(0, -1), 1);
      const same =
        behind(packed).equals(bytes) &&
        places.subarray(1, -1).equals(bytes) &&
        places[0] === 35 &&
        places.at(-1) === 35 &&
        behind(packed, from).equals(bytes.subarray(from)) &&
        beginning(packed, from).equals(bytes.subarray(0, from));
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

t.test('similar objects keep little more than their own bytes', (t) => {
  const packing = new Packing();
  const first = packing.pack(podKey(0), 'json', pod(0));
  t.equal(templateOf(first), undefined, 'the first is the template');
  for (let n = 1; n < 50; n++) {
    const packed = packing.pack(podKey(n), 'json', pod(n));
    t.equal(templateOf(packed)?.bytes, first);
    t.ok(ownLength(packed) < 250 && ownLength(packed) < packed.length / 8, `${ownLength(packed)}`);
  }
  t.test('similar objects with unrelated names share bytes, too', async (t) => {
    t.equal(templateOf(packing.pack('/registry/pods/other/alone', 'json', pod(99)))?.bytes, first);
  });
  t.test('the source buffer may be reused', async (t) => {
    const place = pod(1, 'z');
    const one = packing.pack('/registry/others/a/b', 'json', place);
    place.fill(0);
    t.same(behind(one), pod(1, 'z'));
    const other = packing.pack('/registry/others/a/c', 'json', pod(2, 'z'));
    t.equal(templateOf(other)?.bytes, one);
    t.same(behind(other), pod(2, 'z'));
  });
  t.test('each encoding has its own templates', async (t) => {
    t.equal(templateOf(packing.pack(podKey(50), 'protobuf v1', pod(50))), undefined);
  });
  t.test('a new state becomes an additional template', async (t) => {
    const status = 'running in all its glory ';
    packing.pack(podKey(51), 'json', pod(51, 'x', status));
    t.same(templateOf(packing.pack(podKey(52), 'json', pod(52, 'x', status)))?.bytes, pod(51, 'x', status));
    t.ok(ownLength(packing.pack(podKey(53), 'json', pod(53))) < 250);
  });
  t.end();
});

t.test('small and dissimilar values stay unpacked', async (t) => {
  const packing = new Packing();
  const random = numbers(1);
  for (const length of [0, 1, 100]) {
    const bytes = text(random, length, 26);
    for (let i = 0; i < 2; i++) t.same(packing.pack(podKey(i), 'json', bytes), bytes, `${length} bytes`);
  }
  for (let i = 0; i < 20; i++) {
    const bytes = text(random, 3000, 26);
    t.same(packing.pack(podKey(i), 'json', bytes), bytes);
  }
});

t.test('large values are compressed outside of this thread, one at a time', async (t) => {
  const packing = new Packing();
  const texts = Array.from({ length: 5 }, (_, n) =>
    Buffer.from(`${n} ${'something about the field, and '.repeat(4000)}`),
  );
  const all = texts.map((bytes, n) => packing.pack(podKey(n), 'json', bytes));
  for (const when of ['before', 'after']) {
    for (const [n, bytes] of all.entries()) {
      t.same(behind(bytes), texts[n], when);
      t.same(behind(bytes, 100), texts[n]?.subarray(100));
      t.same(beginning(bytes, 50), texts[n]?.subarray(0, 50));
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
});

t.test('values that would save little stay unpacked', async (t) => {
  for (const bytes of [randomBytes(50_000), Buffer.alloc(4 * 1024 * 1024)]) {
    const large = new DeflatedBytes(bytes);
    await large.deflate();
    t.equal(large.whole(), bytes);
  }
  const bytes = Buffer.alloc(100_000, 'shrinks');
  const large = new DeflatedBytes(bytes);
  await large.deflate();
  t.equal(large.whole(), bytes, 'as long as it is in memory anyway');
  t.equal(large.length, bytes.length);
});

t.test('the index is bounded', async (t) => {
  const maxTemplateBytes = 300_000;
  const packing = new Packing({ maxTemplateBytes });
  const random = numbers(2);
  for (let i = 0; i < 500; i++) {
    packing.pack(podKey(i % 7, `set${i}`), `form ${i % 3}`, text(random, 600 + random(3000), 26));
    if (packing.templateBytes > maxTemplateBytes) t.fail(`${packing.templateBytes} bytes after ${i}`);
  }
});

t.test('much larger templates are not used', async (t) => {
  const packing = new Packing();
  const large = text(numbers(3), 10_000, 26);
  packing.pack(podKey(0), 'json', large);
  t.equal(templateOf(packing.pack(podKey(1), 'json', large.subarray(0, 2000))), undefined);
});

t.test('the number of stretches per template is bounded', async (t) => {
  const random = numbers(4);
  const base = text(random, 4000, 26);
  const template = new Template(base, scratch);
  for (let i = 0; i < 2000; i++) {
    const at = random(3000);
    const bytes = Buffer.concat([base.subarray(0, at), Buffer.from('!'), base.subarray(at + 56 + random(400))]);
    const packed = PackedBytes.of(bytes, template, bytes.length);
    if (packed !== undefined && !behind(packed).equals(bytes)) t.fail(`at ${at}`);
  }
  t.equal(template.stretches.length, maxStretches);
});

t.test('blocks with equal hashes are compared by their bytes', async (t) => {
  // All blocks but one are equal, more than are compared.
  const base = Buffer.concat([Buffer.alloc(4000, 'a'), Buffer.from('b'.repeat(64)), Buffer.alloc(4000, 'a')]);
  const template = new Template(base, scratch);
  for (const bytes of [base, base.subarray(3), Buffer.alloc(6000, 'a'), Buffer.alloc(6000, 'ab')]) {
    const packed = PackedBytes.of(bytes, template, bytes.length);
    if (packed !== undefined) t.ok(behind(packed).equals(bytes));
  }
});
