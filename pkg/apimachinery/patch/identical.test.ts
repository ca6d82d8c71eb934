import t from 'tap';
import { identicalJson } from '#apimachinery/patch/identical.js';

void t.test('values are identical when their JSON is', async (t) => {
  const texts = [
    ...['null', '0', '1', '"1"', '[]', '[1]', '[1,2]', '[2,1]', '{}', '{"a":1}', '{"b":1}', '{"a":1,"b":2}'],
    ...['{"b":2,"a":1}', '{"a":{"b":[{}]}}', '{"a":{"b":[[]]}}', '{"0":1}', '{"__proto__":{}}', '{"a":null}'],
  ];
  for (const a of texts) {
    for (const b of texts) t.equal(identicalJson(JSON.parse(a), JSON.parse(b)), a === b, `${a}, ${b}`);
  }
});
