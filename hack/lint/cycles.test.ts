import t from 'tap';
import { fileCycles, folderCycles } from './cycles.js';
import { type Import, parseExplanation, readImports } from './imports.js';

/** `a/x b/y`: one imports the other, below `pkg/p`. */
const imports = (...lines: string[]): Import[] =>
  lines.map((line) => {
    const [from = '', to = ''] = line.split(' ').map((path) => `pkg/p/${path}.ts`);
    return { from, to };
  });

const members = (cycles: readonly { members: readonly string[] }[]) => cycles.map((cycle) => cycle.members);

t.test('what the compiler says of a file', async (t) => {
  const text = [
    'node_modules/lib/index.d.ts',
    "  Imported via 'lib' from file 'pkg/a/x.ts' with packageId 'lib@1'",
    'pkg/a/x.ts',
    "  Imported via '#a/x.js' from file 'pkg/b/y.ts' with packageId 'orch/pkg/a/x.ts@1'",
    "  Imported via './x.js' from file 'pkg/a/z.ts'",
    "  Matched by include pattern 'pkg/**/*.ts' in 'tsconfig.json'",
  ].join('\n');
  t.same(parseExplanation(text), [
    { from: 'pkg/b/y.ts', to: 'pkg/a/x.ts' },
    { from: 'pkg/a/z.ts', to: 'pkg/a/x.ts' },
  ]);
});

t.test('the real sources: imports of values, and of types that are gone when they are compiled', async (t) => {
  const imports = await readImports();
  const has = (from: string, to: string) =>
    imports.some((one) => one.from === `hack/lint/${from}.ts` && one.to === `hack/lint/${to}.ts`);
  t.ok(has('main', 'cycles'));
  t.ok(has('cycles', 'imports'), 'only a type');
});

t.test('files', async (t) => {
  t.same(fileCycles('pkg/p', imports('a/x a/y', 'a/y b/z')), []);
  const ring = imports('a/x a/y', 'a/y b/z', 'b/z a/x', 'a/x a/other');
  t.same(members(fileCycles('pkg/p', ring)), [['pkg/p/a/x.ts', 'pkg/p/a/y.ts', 'pkg/p/b/z.ts']]);
  t.same(fileCycles('pkg/p', ring)[0]?.imports.length, 3, 'only the imports that tie them');
  t.same(fileCycles('pkg/other', ring), []);
});

t.test('folders', async (t) => {
  const cases: [string, Import[], string[][]][] = [
    ['one way', imports('a/x b/y', 'b/y c/z'), []],
    ['within one folder', imports('a/x a/y', 'a/y a/x'), []],
    ['two, though no file reaches itself', imports('a/x b/y', 'b/z a/w'), [['pkg/p/a', 'pkg/p/b']]],
    ['through a third', imports('a/x b/y', 'b/y c/z', 'c/z a/w'), [['pkg/p/a', 'pkg/p/b', 'pkg/p/c']]],
    ['a folder with all that is in it', imports('a/x b/y', 'b/y a/deep/z'), [['pkg/p/a', 'pkg/p/b']]],
    ['a folder below the files that it serves', imports('a/deep/x a/y', 'a/deep/x b/y'), []],
    ['and one that imports them too', imports('a/deep/x a/y', 'a/y a/deep/z'), [['pkg/p/a/*', 'pkg/p/a/deep']]],
    ['the files of the package itself', imports('main a/x', 'a/x options'), [['pkg/p/*', 'pkg/p/a']]],
    ['tests', imports('a/x.test b/y', 'b/y a/x'), []],
  ];
  for (const [name, given, expected] of cases) t.same(members(folderCycles('pkg/p', given)), expected, name);
});
