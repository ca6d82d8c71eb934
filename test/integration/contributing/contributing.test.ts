/** Applies the recipes of CONTRIBUTING.md, with their code, to a copy of the checkout. */
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { root, run } from '#test/e2e/harness.js';

/** Includes build output, so that only the change is compiled. */
const copied = ['charts', 'cmd', 'dist', 'hack', 'pkg', 'test', 'package.json', 'tsconfig.json'];

t.setTimeout(600_000);
t.test('every recipe does what it says', { timeout: 600_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'contributing-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));

  const recipes = recipesOf(await readFile(join(root, 'CONTRIBUTING.md'), 'utf8'));
  t.ok(recipes.length > 0);
  // In order, because a recipe may add to a file of an earlier one.
  for (const recipe of recipes) await apply(folder, recipe);
  const use = await readFile(join(root, 'test/integration/contributing/testdata/use.ts.txt'), 'utf8');
  await writeFile(join(folder, 'test', 'use.ts'), use);

  // Compiles everything, since the option reference is generated from the compiled code.
  await ok(t, folder, 'hack/generate.sh');
  const answers = JSON.parse(await ok(t, folder, process.execPath, 'dist/test/use.js')) as Record<string, unknown>;
  t.test('a field by one line', async (t) => t.match(answers, { owner: 'me', inProtobuf: 'me' }));
  t.test('a kind by one file', async (t) => {
    t.match(answers, {
      created: { kind: 'Turn', metadata: { uid: /-/ }, spec: { players: ['b', 'c'] } },
      status: { last: 'b' },
      unknown: 400,
      list: 'TurnList',
      explained: true,
    });
    t.same((answers['created'] as { status?: unknown }).status, {}, 'status is not set by its creation');
  });
  t.test('a controller', async (t) => t.match(answers, { last: 'b', selected: true, rights: 2 }));
  t.test('an option', async (t) => t.match(answers, { option: 5 }));
  t.test('a metric', async (t) => t.match(answers, { counted: true }));
  t.test('an admission plugin', async (t) =>
    t.match(answers, { refused: /"alone" is forbidden: a game needs two players$/ }),
  );
  t.test('a subresource', async (t) =>
    t.match(answers, { ofPlayers: { spec: { players: ['c', 'd'] }, status: { last: 'b' } }, discovered: true }),
  );
  t.test('a scheduler plugin', async (t) => t.match(answers, { node: 'b', feasibleNodes: 1 }));
});

t.test('what it names is there', async (t) => {
  const text = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
  const named = new Set([...text.matchAll(/`((?:cmd|hack|pkg|test)\/[\w./-]+)`/g)].map(([, path = '']) => path));
  t.ok(named.has('pkg/apiserver/registry/create.ts'));
  for (const path of named) t.ok(await stat(join(root, path)).catch(() => undefined), path);
});

interface Recipe {
  readonly path: string;
  /** The code of the file to whose beginning the recipe adds; absent: the recipe is the whole file. */
  readonly place?: string;
  readonly code: string;
}

/** TypeScript blocks that begin with the name of their file. */
function recipesOf(text: string): Recipe[] {
  const blocks = text.matchAll(/```ts\n\/\/ (\S+\.ts)(?:, (\S+))?\n(.*?)```/gs);
  return [...blocks].map(([, path = '', place, code = '']) => ({
    path,
    code,
    ...(place === undefined ? {} : { place }),
  }));
}

/** Writes the file, or adds to it: imports to the imports, the rest behind the opening bracket. */
async function apply(folder: string, { path, place, code }: Recipe): Promise<void> {
  const file = join(folder, path);
  if (place === undefined) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, code);
    return;
  }
  const lines = code.split('\n');
  const imports = lines.filter((line) => line.startsWith('import ')).join('\n');
  const rest = lines.filter((line) => !line.startsWith('import ')).join('\n');
  const before = await readFile(file, 'utf8');
  // A list on one line, or else the end of the line that opens it.
  const opening =
    new RegExp(`\\b${place}: \\[`).exec(before) ??
    new RegExp(`^(?: *|export |const |async )*${place}\\b.*?(?:\\n.*?)?[{[]$`, 'm').exec(before);
  if (opening === null) throw new Error(`${path} has no ${place}`);
  const at = opening.index + opening[0].length;
  const changed = `${before.slice(0, at)}\n${rest}${before.slice(at)}`;
  await writeFile(file, imports === '' ? changed : changed.replace(/^import /m, () => `${imports}\nimport `));
}

async function ok(t: Test, cwd: string, program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program.startsWith('hack/') ? join(cwd, program) : program, args, {
    cwd,
    timeoutMs: 300_000,
  });
  t.equal(code, 0, program, { stdout, stderr });
  return stdout;
}
