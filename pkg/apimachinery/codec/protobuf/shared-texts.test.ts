import t from 'tap';
import { SharedTexts } from '#apimachinery/codec/protobuf/shared-texts.js';

/** A buffer's text; `made` counts the strings that had to be made. */
function reader() {
  const texts = new SharedTexts();
  let made = 0;
  const read = (text: string): string => {
    const buffer = Buffer.from(text);
    const original = buffer.toString.bind(buffer);
    buffer.toString = (...args) => {
      made++;
      return original(...args);
    };
    return texts.text(buffer, new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength), 0, buffer.length);
  };
  return { read, made: () => made };
}

t.test('a text that comes again is kept', (t) => {
  const { read, made } = reader();
  for (let n = 0; n < 5; n++) t.equal(read('node-17'), 'node-17');
  t.equal(made(), 2, 'the second time it is worth its place');
  t.equal(read(''), '');
  for (const text of ['a', 'ab', 'abc', 'abcd', 'abcde', 'ä', 'häl', 'x'.repeat(96), 'x'.repeat(97)])
    for (let n = 0; n < 4; n++) t.equal(read(text), text);
  t.end();
});

t.test('what never comes again takes no place of what does', (t) => {
  const { read, made } = reader();
  for (let n = 0; n < 2; n++) read('node-17');
  const before = made();
  for (let n = 0; n < 100_000; n++) read(String(1_000_000 + n));
  t.equal(made(), before + 100_000);
  read('node-17');
  t.equal(made(), before + 100_000);
  t.end();
});
