import t from 'tap';
import { resolver, unusedExports } from './unused-exports.js';

const resolve = resolver({ '#room/*.js': { source: './pkg/room/*.ts', default: './dist/pkg/room/*.js' } });

/** Exports without an importer in these files below `pkg/room`. */
const unused = (files: Record<string, string>): string[] =>
  unusedExports(new Map(Object.entries(files).map(([name, text]) => [`pkg/room/${name}`, text])), {
    resolve,
    isRoot: (path) => path.endsWith('main.ts'),
  }).map(({ name }) => name);

t.test('what no other file imports', async (t) => {
  t.same(unused({ 'a.ts': 'export function f() {}\nf();\nexport const c = 1;\nexport class K {}\n' }), ['f', 'c', 'K']);
  t.same(unused({ 'main.ts': 'export function f() {}\n' }), []);
});

t.test('what another file imports, however it does', async (t) => {
  const a = 'export async function f() {}\nexport const c = 1;\nexport interface T {}\n';
  t.same(unused({ 'a.ts': a, 'b.ts': "import { c as other, f, type T } from '#room/a.js';\n" }), []);
  t.same(unused({ 'a.ts': a, 'b.ts': "import {\n  f,\n  type T,\n} from './a.js';\n" }), ['c']);
  t.same(unused({ 'a.ts': a, 'b.ts': "export { c, f, T } from './a.js';\n" }), []);
  t.same(unused({ 'a.ts': a, 'b.ts': "import * as all from './a.js';\n" }), []);
  t.same(unused({ 'a.ts': a, 'b.ts': "const all = await import('#room/a.js');\n" }), []);
  t.same(unused({ 'a.ts': a, 'x/a.ts': '', 'b.ts': "import { c, f, T } from './x/a.js';\n" }), ['f', 'c', 'T']);
});

t.test('a type that its own file needs', async (t) => {
  t.same(unused({ 'main.ts': '', 'a.ts': 'export interface T {}\n/** Not a T. */\n' }), ['T']);
  t.same(
    unused({ 'a.ts': 'export type T = 1;\nexport const f = (t: T) => t;\n', 'b.ts': "import { f } from './a.js';\n" }),
    [],
  );
});
