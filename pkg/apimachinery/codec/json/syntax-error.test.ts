import t from 'tap';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';

const rows: readonly (readonly [text: string, words: string | undefined])[] = [
  ['{"a":[1,-2.5e+3,"x\\u00e9",true,false,null,{}],"b":[]} \n', undefined],
  ['', 'unexpected end of JSON input'],
  [' ', 'unexpected end of JSON input'],
  ['{"a":', 'unexpected end of JSON input'],
  ['"a', 'unexpected end of JSON input'],
  ['-', 'unexpected end of JSON input'],
  ['{}{}', "invalid character '{' after top-level value"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['[1 2]', "invalid character '2' after array element"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
  ['<a/>', "invalid character '<' looking for beginning of value"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['-a', "invalid character 'a' in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ['01', "invalid character '1' after top-level value"],
  ['trux', "invalid character 'x' in literal true (expecting 'e')"],
  ['\u0000', "invalid character '\\x00' looking for beginning of value"],
];

for (const [text, words] of rows) {
  t.test(JSON.stringify(text), async (t) => {
    t.equal(jsonSyntaxError(Buffer.from(text)), words);
    t.equal(words === undefined, isJSON(text), 'the runtime agrees');
  });
}

t.test('bytes count as Latin-1 characters, and nesting is limited', async (t) => {
  t.equal(jsonSyntaxError(Buffer.from([0xe9])), "invalid character 'é' looking for beginning of value");
  t.equal(jsonSyntaxError(Buffer.from('['.repeat(60_000))), "invalid character '[' exceeded max depth");
  t.equal(jsonSyntaxError(Buffer.from(' '.repeat(70_000))), undefined);
});

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
