import t from 'tap';
import { encodeHeaders, HeaderBlockError, HeaderDecoder, type HeaderField } from '#http2/hpack.js';
import { decodeHuffman } from '#http2/huffman.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

void t.test('the examples of RFC 7541, appendix C', async (t) => {
  t.equal(decodeHuffman(hex('f1e3 c2e5 f23a 6ba0 ab90 f4ff')), 'www.example.com');
  t.equal(decodeHuffman(hex('a8eb 1064 9cbf')), 'no-cache');
  const requests = new HeaderDecoder();
  const first: HeaderField[] = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
  ];
  t.same(requests.decode(hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')), first);
  t.same(requests.decode(hex('8286 84be 5886 a8eb 1064 9cbf')), [...first, ['cache-control', 'no-cache']]);
});

void t.test('fields and names that every peer knows are written as numbers', async (t) => {
  const fields: HeaderField[] = [
    [':method', 'POST'],
    [':path', '/x'],
    ['user-agent', 'a'],
    ['z', '1'],
    ['age', ''],
  ];
  const block = encodeHeaders(fields);
  t.same(block, hex('83 04022f78 0f2b0161 00017a0131 95'));
  t.same(new HeaderDecoder().decode(block), fields);
});

void t.test('what the table of recent headers forgets', async (t) => {
  const decoder = new HeaderDecoder();
  const long = 'x'.repeat(2100);
  const literal = (name: string, value: string) => {
    const block = encodeHeaders([[name, value]]);
    block[0] = 0x40;
    return block;
  };
  decoder.decode(literal('a', long));
  t.same(decoder.decode(hex('be')), [['a', long]]);
  t.equal(decoder.decode(hex('be'))[0], decoder.decode(hex('be'))[0], 'the same field, not a copy');
  decoder.decode(literal('b', long));
  t.same(decoder.decode(hex('be')), [['b', long]]);
  t.throws(() => decoder.decode(hex('bf')), HeaderBlockError, 'the older one had no room');
  t.same(decoder.decode(hex('20')), []);
  t.throws(() => decoder.decode(hex('be')), HeaderBlockError, 'the table was emptied');
});

void t.test('blocks that are refused', async (t) => {
  const rows: Record<string, string> = {
    'an index of nothing': '80',
    'an index beyond both tables': 'be',
    'a table larger than agreed': '3fe2 1f',
    'a number without an end': '3fff ffff ffff ff00',
    'a string that is cut off': '0003 6162',
    'a name without a value': '0001 61',
    'the code of the end of a string': '0084 ffff ffff',
    'more filling than a byte': '0082 1fff',
    'filling that is not ones': '0081 18',
  };
  for (const [name, block] of Object.entries(rows)) {
    t.throws(() => new HeaderDecoder().decode(hex(block)), HeaderBlockError, name);
  }
});
