import t from 'tap';
import { readLines } from '#client/rest/lines.js';

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function lines(...texts: string[]): Promise<string[]> {
  const result: string[] = [];
  for await (const line of readLines(chunks(...texts), 20)) result.push(line.toString());
  return result;
}

t.test('splits lines independent of chunks', async (t) => {
  t.same(await lines('a\nb\n'), ['a', 'b']);
  t.same(await lines('a', 'b', 'c\nd', '\n'), ['abc', 'd']);
  t.same(await lines('a\n\n\nb\n', '\n'), ['a', 'b'], 'empty lines are keep-alives');
  t.same(await lines('a\nunfinished'), ['a'], 'an unfinished line is dropped');
  t.same(await lines(), []);
  await t.rejects(lines('0123456789', '0123456789', '0'), /longer than 20 bytes/);
});

t.test('copies a line of many chunks only once', async (t) => {
  const many = Array.from({ length: 20_000 }, () => 'x'.repeat(100));
  let length = 0;
  for await (const line of readLines(chunks(...many, '\n'))) length = line.length;
  t.equal(length, 2_000_000);
});
