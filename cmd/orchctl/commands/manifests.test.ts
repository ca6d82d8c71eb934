import t from 'tap';
import { parseManifests } from '#cmd/orchctl/commands/manifests.js';

t.test('reads documents, lists and empty documents', async (t) => {
  const text = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
# nothing here
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}}
- {apiVersion: v1, kind: Pod, metadata: {name: c}}
`;
  t.same(
    parseManifests(text, 'x.yaml').map((o) => `${o.kind}/${o.metadata.name}`),
    ['ConfigMap/a', 'Secret/b', 'Pod/c'],
  );
});

t.test('reads scalar types like other clients', async (t) => {
  const text =
    'apiVersion: v1\nkind: Pod\nspec: { octal: 0755, on: yes, time: 12:30, day: 2024-01-01, word: "no", hash: e12345 }';
  t.match(parseManifests(text, 'x.yaml')[0], {
    spec: { octal: 0o755, true: true, time: '12:30', day: '2024-01-01', word: 'no', hash: 'e12345' },
  });
});

t.test('JSON is YAML', async (t) => {
  t.equal(parseManifests('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}', 'x.json').length, 1);
});

t.test('errors name the file', async (t) => {
  for (const [text, message] of [
    ['a: [', /^error parsing x\.yaml: error converting YAML to JSON: yaml: /],
    ['- 1', /^unable to decode "x\.yaml": expected an object/],
    ['apiVersion: v1', /^unable to decode "x\.yaml": Object 'Kind' is missing in '\{"apiVersion":"v1"\}'/],
    ['kind: Pod', /^unable to decode "x\.yaml": Object 'apiVersion' is missing/],
    ['kind: Pod\nkind: Pod', /^error parsing x\.yaml: .*line 2: key "kind" already set in map$/s],
  ] as const) {
    t.throws(() => parseManifests(text, 'x.yaml'), { name: 'CommandError', message });
  }
  const bomb = `a: &a [x]\n${Array.from({ length: 9 }, (_, i) => `${'bcdefghij'[i]}: &${'bcdefghij'[i]} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(',')}]`).join('\n')}`;
  t.throws(() => parseManifests(bomb, 'x.yaml'), 'refuses an alias bomb');
});
