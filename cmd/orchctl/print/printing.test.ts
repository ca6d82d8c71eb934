/** Output formats, compared with what kubectl and the libraries of Go print. */
import t from 'tap';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { JsonPath } from '#cmd/orchctl/print/jsonpath/evaluate.js';
import { sortedBy } from '#cmd/orchctl/print/sort.js';
import { GoTemplate } from '#cmd/orchctl/print/template/template.js';
import { yamlText } from '#cmd/orchctl/print/yaml/emit.js';

t.test('YAML like that of go-yaml', (t) => {
  const long = 'word '.repeat(20).trim();
  for (const [value, text] of [
    [{ b: 1, a: 'x' }, 'a: x\nb: 1\n'],
    [{ a: [{ b: 1, c: [] }, 'x'], d: {} }, 'a:\n- b: 1\n  c: []\n- x\nd: {}\n'],
    [{ a: [[1, 2], [{ b: null }]] }, 'a:\n- - 1\n  - 2\n- - b: null\n'],
    [
      { a: '1', b: 'true', c: '', d: '2024-01-01T00:00:00Z', e: '~' },
      'a: "1"\nb: "true"\nc: ""\nd: "2024-01-01T00:00:00Z"\ne: "~"\n',
    ],
    [
      { a: '- x', b: 'a: b', c: '#x', d: "it's", e: "'q'", f: ' x' },
      "a: '- x'\nb: 'a: b'\nc: '#x'\nd: it's\ne: '''q'''\nf: ' x'\n",
    ],
    [
      { a: 'one\ntwo\n', b: 'one\ntwo', c: 'x\n\n', d: '  in\nout\n' },
      'a: |\n  one\n  two\nb: |-\n  one\n  two\nc: |+\n  x\n\nd: |2\n    in\n  out\n',
    ],
    [{ a: 'tab\there\n', b: '\u0001', c: 'é', d: '\u2028' }, 'a: "tab\\there\\n"\nb: "\\x01"\nc: é\nd: "\\L"\n'],
    [{ a10: 1, a9: 1, b: 1, B: 1, 'a-b': 1, aa: 1 }, 'B: 1\na-b: 1\na9: 1\na10: 1\naa: 1\nb: 1\n'],
    [{ a: 1.5, b: 1e21, c: -0.00001, d: 9007199254740993n }, 'a: 1.5\nb: 1e+21\nc: -1e-05\nd: 9007199254740993\n'],
    [{ message: long }, `message: ${'word '.repeat(15).trim()}\n  ${'word '.repeat(5).trim()}\n`],
    [{ message: `'${long}` }, `message: '''${'word '.repeat(14).trim()}\n  ${'word '.repeat(6).trim()}'\n`],
    [[], '[]\n'],
    ['x', 'x\n'],
  ] as const) {
    t.equal(yamlText(value), text, JSON.stringify(text));
  }
  t.end();
});

t.test('YAML is read as what was written', (t) => {
  const random = seededRandom(7);
  const characters = [...'ab 0:-#\'"\n\t,[]{}|>%@!&*?~.=<', 'é', '\u2028', '😀', ' ', ' ', '\n'];
  const text = () =>
    Array.from({ length: Math.floor(random() * 120) }, () => characters[Math.floor(random() * characters.length)]).join(
      '',
    );
  for (let i = 0; i < 2000; i += 1) {
    const value = { [`k${i % 7}`]: text(), list: [text(), { deep: [text()] }] };
    const written = yamlText(value);
    if (JSON.stringify(readBack(written)) !== JSON.stringify(value)) t.strictSame(readBack(written), value, written);
  }
  t.end();
});

function readBack(text: string): unknown {
  try {
    return parseYAML(text);
  } catch (error) {
    return String(error);
  }
}

const pods = {
  items: [
    {
      metadata: { name: 'a', labels: { 'x.y/z': '1' } },
      spec: {
        containers: [
          { image: 'i', n: 1 },
          { image: 'j', n: 3 },
        ],
      },
    },
    { metadata: { name: 'b' }, spec: { containers: [{ image: 'k', n: 2 }], node: 'n' } },
  ],
};

t.test('JSONPath', (t) => {
  for (const [template, text] of [
    ['{.items[*].metadata.name}', 'a b'],
    ['{.items[0].metadata.name}!', 'a!'],
    ['{.items[-1].metadata.name}', 'b'],
    ['{.items[0:1].metadata.name}', 'a'],
    ['{.items[0,1].metadata.name}', 'a b'],
    ["{.items[0].metadata['name']}", 'a'],
    ['{.items[0].metadata.labels.x\\.y/z}', '1'],
    ['{..image}', 'i j k'],
    ['{range .items[*]}{.metadata.name}:{range .spec.containers[*]}{.image},{end}{"\\n"}{end}.', 'a:i,j,\nb:k,\n.'],
    ['{.items[?(@.spec.node=="n")].metadata.name}', 'b'],
    ['{.items[?(@.spec.node)].metadata.name}', 'b'],
    ['{.items[*].spec.containers[?(@.n>1)].image}', 'j k'],
    ['{.items[0].spec.containers}', '[{"image":"i","n":1},{"image":"j","n":3}]'],
    ['{.nothing.here}', ''],
    ['{range .nothing[*]}x{end}done', 'done'],
    ['plain', 'plain'],
    ["{'quoted'} {true} {1}", 'quoted true 1'],
  ] as const) {
    t.equal(new JsonPath(template, { allowMissing: true }).text(pods), text, template);
  }
  for (const [template, message] of [
    ['{.a', 'unclosed action'],
    ['{.items[}', 'unterminated array'],
    ['{.items[x]}', 'invalid array index x'],
    ['{wrong}', 'unrecognized identifier wrong'],
  ] as const) {
    t.throws(() => new JsonPath(template, { allowMissing: true }), { message }, template);
  }
  t.throws(() => new JsonPath('{.nothing}', { allowMissing: false }).text(pods), { message: 'nothing is not found' });
  t.end();
});

t.test('Go templates', (t) => {
  for (const [template, text] of [
    ['{{range .items}}{{.metadata.name}} {{end}}', 'a b '],
    ['{{range $i, $p := .items}}{{if $i}}, {{end}}{{$p.metadata.name}}{{end}}', 'a, b'],
    ['{{(index .items 1).spec.node}}', 'n'],
    ['{{with .nothing}}x{{else}}none{{end}}', 'none'],
    ['{{if and .items (gt (len .items) 1)}}many{{else if .items}}one{{end}}', 'many'],
    ['{{ .items | len | printf "%03d" -}}  x', '002x'],
    ['{{/* nothing */}}{{"aGk=" | base64decode}}', 'hi'],
    ['{{define "n"}}<{{.}}>{{end}}{{range .items}}{{template "n" .metadata.name}}{{end}}', '<a><b>'],
    ['{{range .items}}{{if eq .metadata.name "b"}}{{continue}}{{end}}{{.metadata.name}}{{end}}', 'a'],
    ['{{$x := 1}}{{range .items}}{{$x = len .metadata.name}}{{end}}{{$x}}', '1'],
    ['{{.nothing}}', '<no value>'],
    ['{{range $k, $v := (index .items 0).metadata.labels}}{{$k}}={{$v}}{{end}}', 'x.y/z=1'],
    ['{{printf "%q %v %s" "a" true "b"}}', '"a" true b'],
    ['{{exists . "items"}} {{exists . "no"}}', 'true false'],
  ] as const) {
    t.equal(new GoTemplate(template, { allowMissing: true }).text(pods), text, template);
  }
  for (const template of ['{{.a', '{{range .}}', '{{end}}', '{{if}}x{{end}}', '{{nonsense .}}', '{{$x}}']) {
    t.throws(() => new GoTemplate(template, { allowMissing: true }).text(pods), template);
  }
  t.end();
});

t.test('JSON like that of Go', (t) => {
  t.equal(
    goJSON({ b: '<a&b>', a: [1, { d: null, c: true }] }),
    '{"a":[1,{"c":true,"d":null}],"b":"\\u003ca\\u0026b\\u003e"}',
  );
  t.end();
});

t.test('sorts by a field', (t) => {
  const items = ['b10', 'b9', 'a'].map((name, i) => ({ name, size: ['1Gi', '500Mi', '2'][i], count: i % 2 }));
  const names = (field: string) => sortedBy(items, field, (item) => item).map(({ name }) => name);
  t.same(names('.name'), ['a', 'b9', 'b10']);
  t.same(names('{.size}'), ['a', 'b9', 'b10']);
  t.same(names('count'), ['b10', 'a', 'b9']);
  t.throws(() => names('.none'), { message: `couldn't find any field with path "{.none}" in the list of objects` });
  t.end();
});
