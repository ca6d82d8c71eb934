import t from 'tap';
import { parse } from 'yaml';
import { compactParts, type ListDocument, prettyParts, yamlParts } from '#apiserver/representation/list-document.js';

const text = (parts: Iterable<Buffer | undefined>) =>
  Buffer.concat([...parts].filter((part) => part !== undefined)).toString();

function list(items: readonly object[]): ListDocument {
  return {
    head: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '7' } },
    itemsName: 'items',
    items: items.flatMap((item) => [Buffer.from(JSON.stringify(item)), undefined]),
  };
}

const samples = [
  [],
  [{ a: 1 }],
  [{ text: 'one\n\n  two\n', empty: {}, none: [] }, { nested: [{ deep: ['x', '- y', ': z'] }] }, { key: '  leading' }],
];

t.test('all forms have the same content', async (t) => {
  for (const items of samples) {
    const document = list(items);
    const whole = { ...document.head, items };
    t.equal(text(compactParts(document)), `${JSON.stringify(whole)}\n`);
    t.equal(text(prettyParts(document)), `${JSON.stringify(whole, null, 2)}\n`);
    t.same(parse(text(yamlParts(document)), { version: '1.1' }), whole);
  }
});
