import t from 'tap';
import { withReplacements } from '#apimachinery/codec/json/json.js';
import { yamlText } from '#apimachinery/codec/yaml/encoding.js';

const octets = (hex: string): Buffer => Buffer.from(hex, 'hex');

t.test('JSON: each invalid byte becomes U+FFFD', (t) => {
  const rows: readonly (readonly [hex: string, text: string])[] = [
    ['78ff79', 'x\ufffdy'],
    ['e2827a', '\ufffd\ufffdz'],
    ['eda080', '\ufffd\ufffd\ufffd'],
    ['f09f', '\ufffd\ufffd'],
    ['f0908080', '\u{10000}'],
    ['c080', '\ufffd\ufffd'],
    ['f4908080', '\ufffd\ufffd\ufffd\ufffd'],
    ['e282acff', '€\ufffd'],
    ['', ''],
  ];
  for (const [hex, text] of rows) t.equal(withReplacements(octets(hex)).toString(), text, hex);
  const plain = Buffer.from('{"a":"€"}');
  t.equal(withReplacements(plain), plain, 'what is UTF-8 is not copied');
  t.end();
});

t.test('YAML: invalid bytes are refused with the messages of go-yaml', (t) => {
  const rows: readonly (readonly [hex: string, fault: string])[] = [
    ['61ff', 'invalid leading UTF-8 octet'],
    ['e2827a', 'invalid trailing UTF-8 octet'],
    ['e282', 'incomplete UTF-8 octet sequence'],
    ['c080', 'invalid length of a UTF-8 sequence'],
    ['eda080', 'invalid Unicode character'],
    ['f4908080', 'invalid Unicode character'],
    ['01ff', 'control characters are not allowed'],
  ];
  for (const [hex, fault] of rows) {
    t.throws(() => yamlText(octets(hex)), { name: 'DecodeError', message: `yaml: ${fault}` }, hex);
  }
  t.equal(yamlText(octets('fffe61003a00')), 'a:');
  t.equal(yamlText(octets('feff0061003a')), 'a:');
  t.equal(yamlText(Buffer.from('€: 1')), '€: 1');
  t.end();
});
