import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ConversionError, convert, splitDocuments } from '#cmd/orchctl/codec/convert.js';
import { encodeStored } from '#storage/layout.js';

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../pkg/apimachinery/codec/testdata/${name}`, import.meta.url)));
const text = (input: string | Buffer, options: Parameters<typeof convert>[1]) =>
  convert(Buffer.from(input), options).bytes.toString();

t.test('converts between all encodings', async (t) => {
  for (const name of ['core.v1.Pod', 'core.v1.Node', 'apps.v1.Deployment', 'core.v1.Secret']) {
    const stored = fixture(`${name}.pb`);
    const json = convert(stored, { to: 'json' }).bytes;
    const yaml = convert(json, { to: 'yaml' }).bytes;
    t.same(JSON.parse(json.toString()), JSON.parse(fixture(`${name}.json`).toString()), name);
    t.ok(convert(json, { to: 'protobuf' }).bytes.equals(stored));
    t.ok(convert(yaml, { to: 'protobuf', from: 'yaml' }).bytes.equals(stored));
    t.ok(convert(yaml, { to: 'json' }).bytes.equals(json));
    t.ok(convert(stored, { to: 'protobuf' }).bytes.equals(stored));
  }
});

t.test('converts every built-in kind in both dialects', async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    for (const { apiVersion, declaration } of schemeFor(dialect).resources) {
      const object = { kind: declaration.kind, apiVersion, metadata: { name: 'a', labels: { b: 'c' } } };
      const stored = convert(Buffer.from(JSON.stringify(object)), { to: 'protobuf', dialect }).bytes;
      const yaml = convert(stored, { to: 'yaml', dialect }).bytes;
      t.match(JSON.parse(text(yaml, { to: 'json', dialect })), object, `${apiVersion} ${declaration.kind}`);
    }
  }
});

t.test('reads etcd values', async (t) => {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', resourceVersion: '7' },
    spec: { nodeName: 'n' },
  };
  t.same(JSON.parse(text(encodeStored(pod), { to: 'json' })), { ...pod, metadata: { name: 'a' }, status: {} });
  const printed = Buffer.concat([
    Buffer.from('/registry/pods/default/x\n'),
    fixture('core.v1.Pod.pb'),
    Buffer.from('\n'),
  ]);
  t.ok(
    convert(printed, { to: 'protobuf' }).bytes.equals(fixture('core.v1.Pod.pb')),
    'with its key and a trailing newline',
  );
});

t.test('accepts the group names of either dialect', async (t) => {
  const role = (domain: string) => `{"apiVersion":"rbac.authorization.${domain}/v1","kind":"Role","rules":[]}`;
  for (const domain of ['orch.io', 'k8s.io']) {
    const stored = convert(Buffer.from(role(domain)), { to: 'protobuf' }).bytes;
    t.match(text(stored, { to: 'yaml' }), `apiVersion: rbac.authorization.${domain}/v1`);
  }
  const rows = [
    ['orch', 'k8s.io'],
    ['kubernetes', 'orch.io'],
  ] as const;
  const { dialectByName } = await import('#apimachinery/dialect.js');
  for (const [name, domain] of rows) {
    t.throws(() => text(role(domain), { to: 'yaml', dialect: dialectByName(name) }), {
      message: `no built-in kind "Role" in "rbac.authorization.${domain}/v1" (${name} names)`,
    });
  }
});

t.test('converts several objects', async (t) => {
  const yaml = '# two\n---\nkind: ConfigMap\napiVersion: v1\ndata: {a: b}\n---\n---\n{kind: Pod, apiVersion: v1}\n';
  t.equal(text(yaml, { to: 'yaml' }).split('\n---\n').length, 2);
  t.match(text(yaml, { to: 'json' }), /^\{\n.*\n\}\n\{\n.*\n\}\n$/s);
  const list = JSON.parse(text(convert(Buffer.from(yaml), { to: 'protobuf' }).bytes, { to: 'json' }));
  t.match(list, { kind: 'List', items: [{ kind: 'ConfigMap', data: { a: 'b' } }, { kind: 'Pod' }] });
  const typed = '{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}';
  t.match(JSON.parse(text(convert(Buffer.from(typed), { to: 'protobuf' }).bytes, { to: 'json' })), JSON.parse(typed));
});

t.test('errors name the place', async (t) => {
  const rows: [string | Buffer, RegExp][] = [
    ['', /^the input contains no object$/],
    ['# nothing\n---\n', /^the input contains no object$/],
    ['{"kind":"Pod"', /^json: .*JSON at position \d+|^json: Expected/],
    ['{"kind":"Pod"}', /^apiVersion is not set$/],
    ['{"apiVersion":"v1"}', /^kind is not set$/],
    ['{"apiVersion":"v1","kind":"Nothing"}', /^no built-in kind "Nothing" in "v1" \(orch or kubernetes names\)$/],
    ['{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":7}]}}', /Container\.spec\.containers\.name/],
    ['- a', /^yaml: expected an object$/],
    ['kind: Pod\napiVersion: v1\n---\nkind: Pod\n\napiVersion: v1\nspec: }', /^document 2 \(line 3\): yaml: line 6: /],
    ['kind: Pod\napiVersion: v1\n---\nkind: Pod', /^document 2 \(line 3\): apiVersion is not set$/],
    ['kind: Pod\nkind: Pod', /^yaml: .*line 2: key "kind" already set in map$/s],
    [fixture('core.v1.Pod.pb').subarray(0, 90), /^Protobuf of 90 bytes: unexpected EOF$/],
  ];
  for (const [input, message] of rows) {
    t.throws(() => convert(Buffer.from(input), { to: 'json' }), { name: ConversionError.prototype.name, message });
  }
});

t.test('warns about dropped members', async (t) => {
  const odd = '{"kind":"ConfigMap","apiVersion":"v1","odd":1,"data":{"a":"1","a":"2"}}';
  t.same(convert(Buffer.from(odd), { to: 'json' }).warnings.toSorted(), [
    'duplicate field "data.a"',
    'unknown field "odd"',
  ]);
  const yaml = 'kind: Pod\napiVersion: v1\n---\nkind: Pod\napiVersion: v1\nodd: 1';
  t.same(convert(Buffer.from(yaml), { to: 'json' }).warnings, ['document 2 (line 3): unknown field "odd"']);
});

t.test('splits documents only at their markers', async (t) => {
  t.same(splitDocuments('a: 1\n---\n\n--- \n# c\n--- {b: 1}\nc: |\n  ---\n---d\n...\n'), [
    { text: 'a: 1', line: 1 },
    { text: ' {b: 1}\nc: |\n  ---\n---d\n\n', line: 6 },
  ]);
});
