import t from 'tap';
import { wordFaults } from './words.js';

const texts = (source: string): string[] => wordFaults(source).map(({ text }) => text);

t.test('a pronoun in a comment or a text is a fault', (t) => {
  t.same(wordFaults('/** A list.\n * Whoever reads it waits. */\nconst a = 1;\n'), [{ line: 2, text: 'Whoever' }]);
  t.same(texts("// Nobody waits.\nt.test('somebody else writes', () => {});\n"), ['Nobody', 'somebody']);
  t.same(texts('const message = `anyone waits`;\n'), ['anyone']);
  t.end();
});

t.test('a bare participle as a name is a fault wherever it stands', (t) => {
  t.same(wordFaults('const a = 1;\nconst found = a;\n'), [{ line: 2, text: 'found' }]);
  t.same(texts('class A {\n  readonly #known = 1;\n}\n'), ['#known']);
  t.same(texts('function f({ wanted }: { wanted: number }) {}\n'), ['wanted', 'wanted']);
  t.end();
});

t.test('the Unix account, prose and members of other values are none', (t) => {
  t.same(texts("const user = 'nobody';\n// runs as the user nobody\nconst passwd = 'nobody:x:65534';\n"), []);
  t.same(texts("// not found\nconst text = 'not found';\nconst other = `not found`;\n"), []);
  t.same(texts("t.match(text, /not found: '(\\w+)'/);\nconst later = 1;\n"), ['later']);
  t.same(texts('const { result } = answer.found;\nconst foundPods = 1;\n'), []);
  t.end();
});
