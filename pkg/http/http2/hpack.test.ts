import t from 'tap';
import { encodeHeaders, HeaderBlockError, HeaderDecoder, type HeaderField } from '#http/http2/hpack.js';
import { decodeHuffman } from '#http/http2/huffman.js';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

void t.test('the examples of RFC 7541, appendix C, are decoded', async (t) => {
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

/** All 256 byte values. */
const everyByte =
  'ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffeb' +
  'fffffecfffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3f' +
  'ffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58' +
  'f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7f' +
  'fbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffb' +
  'fffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdaff' +
  'feeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0fff' +
  'f17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fff' +
  'ff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87fff' +
  'fe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ff' +
  'ffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fff' +
  'ffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf';

void t.test('every byte is decoded from the Huffman code at every bit offset', async (t) => {
  const all = decodeHuffman(hex(everyByte));
  t.equal(all, Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join(''));
  // Ten zero bytes, sixteen times the shortest code.
  t.equal(decodeHuffman(Buffer.alloc(10_000, 0)), '0'.repeat(16_000));
});

void t.test('static fields and names are written as indexes', async (t) => {
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

void t.test('old entries of the dynamic table are evicted', async (t) => {
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

void t.test('invalid blocks are refused', async (t) => {
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
