import t from 'tap';
import { escapeHtml, goJson } from '#apimachinery/go-json.js';

t.test('members are sorted at every depth, and absent ones omitted', async (t) => {
  t.equal(goJson({ b: [{ z: 1, a: null }], a: { d: undefined, c: '' } }), '{"a":{"c":""},"b":[{"a":null,"z":1}]}');
});

t.test('HTML characters are escaped everywhere', async (t) => {
  t.equal(goJson({ '<': 'a && b > c\u2028' }), '{"\\u003c":"a \\u0026\\u0026 b \\u003e c\\u2028"}');
  t.equal(escapeHtml('{"a":"\\u003c"}'), '{"a":"\\u003c"}', 'once');
});
