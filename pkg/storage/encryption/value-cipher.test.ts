import { createCipheriv, randomBytes } from 'node:crypto';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { CipherTransformer } from '#storage/encryption/transformer.js';
import { TransformingStore } from '#storage/encryption/transforming-store.js';
import { type CipherName, secretLengths, TransformError, valueCipher } from '#storage/encryption/value-cipher.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { storeContract } from '#storage/store-contract.js';

const names = Object.keys(secretLengths) as CipherName[];
const context = '/registry/secrets/default/a';
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

void t.test('round trips for all lengths, with different ciphertexts', async (t) => {
  for (const name of names) {
    for (const length of secretLengths[name]) {
      const cipher = valueCipher(name, randomBytes(length), randomBytes);
      for (const size of [0, 1, 15, 16, 17, 31, 32, 1000, 100_000]) {
        const value = randomBytes(size);
        const bytes = cipher.encrypt(value, context);
        t.ok(cipher.decrypt(bytes, context).equals(value), `${name} with ${length} bytes, a value of ${size}`);
        t.notOk(cipher.encrypt(value, context).equals(bytes));
        if (size >= 15) t.equal(bytes.indexOf(value), -1);
      }
    }
  }
});

void t.test('values of another implementation', async (t) => {
  // Test vector of NaCl's secretbox.
  const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
  const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
  const value = hex(
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4' +
      '1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52' +
      'f0a089bc76897040e082f937763848645e0705',
  );
  const box = hex(
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b' +
      '4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da' +
      '99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
  );
  const secretbox = valueCipher('secretbox', key, () => nonce);
  t.same(secretbox.encrypt(value, context), Buffer.concat([nonce, box]));
  t.same(secretbox.decrypt(Buffer.concat([nonce, box]), context), value);

  const secret = randomBytes(32);
  const start = randomBytes(16);
  const cbc = createCipheriv('aes-256-cbc', secret, start);
  const blocks = Buffer.concat([start, cbc.update(value), cbc.final()]);
  t.same(valueCipher('aescbc', secret, () => start).encrypt(value, context), blocks);
  const gcmNonce = randomBytes(12);
  const gcm = createCipheriv('aes-256-gcm', secret, gcmNonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([gcmNonce, gcm.update(value), gcm.final(), gcm.getAuthTag()]);
  t.same(valueCipher('aesgcm', secret, () => gcmNonce).encrypt(value, context), sealed);
});

void t.test('changed values are detected, or are not valid', async (t) => {
  const value = Buffer.from('{"kind":"Secret"}');
  for (const name of ['aesgcm', 'secretbox'] as const) {
    const cipher = valueCipher(name, randomBytes(32), randomBytes);
    const bytes = cipher.encrypt(value, context);
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      t.throws(() => cipher.decrypt(changed, context), new TransformError('message authentication failed'));
    }
    t.throws(
      () => valueCipher(name, randomBytes(32), randomBytes).decrypt(bytes, context),
      TransformError,
      'a wrong key',
    );
  }
  const gcm = valueCipher('aesgcm', randomBytes(16), randomBytes);
  t.throws(
    () => gcm.decrypt(gcm.encrypt(value, context), '/registry/secrets/default/b'),
    TransformError,
    'of another key',
  );
  for (const name of names) {
    const cipher = valueCipher(name, randomBytes(32), randomBytes);
    for (const size of [0, 1, 15, 27, 31]) {
      if (name === 'aesgcm' && size > 27) continue;
      t.throws(
        () => cipher.decrypt(Buffer.alloc(size), context),
        /shorter than the required size/,
        `${name} of ${size}`,
      );
    }
  }
  const secret = randomBytes(32);
  const cbc = valueCipher('aescbc', secret, randomBytes);
  t.throws(() => cbc.decrypt(Buffer.alloc(33), context), /not a multiple of the block size/);
  for (const padding of [0, 17, 255]) {
    const start = Buffer.alloc(16);
    const raw = createCipheriv('aes-256-cbc', secret, start).setAutoPadding(false);
    const bytes = Buffer.concat([start, raw.update(Buffer.alloc(16, padding)), raw.final()]);
    t.throws(() => cbc.decrypt(bytes, context), /invalid padding on input/, `padding of ${padding}`);
  }
});

void t.test('a transforming store meets the store contract', async (t) => {
  // The clock's timers do not keep a process alive that waits for nothing else.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  const transformer = new CipherTransformer(valueCipher('aesgcm', randomBytes(32), randomBytes));
  await storeContract(t, () => new TransformingStore(new MemoryStore({ clock: realClock }), transformer), {
    stored: (value, key) => transformer.toStorage(value, key),
  });
});
