/** Does what CONTRIBUTING.md says, with the code that stands there, in a copy of the checkout. */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { root, run } from '#test/e2e/harness.js';

/** With what is built, so that only the change is. */
const copied = ['cmd', 'dist', 'hack', 'pkg', 'test', 'package.json', 'tsconfig.json'];

/** Uses what was added; compiled with the rest, so the generated types are proved too. */
const use = `
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { turns } from '#api/coordination/v1/resources.gen.js';
import type { Turn } from '#api/coordination/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { call, runServer } from '#test/integration/apiserver/server.js';

const map: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, owner: 'me' };
const apiVersion = orchDialect.apiVersion('coordination', 'v1');
const turn: Turn = { apiVersion, kind: 'Turn', metadata: { name: 'a' }, spec: { players: ['b'] }, status: { last: 'x' } };
const { server, stop } = await runServer({ dialect: orchDialect });
const paths = {
  map: \`/api/v1/namespaces/default/\${configmaps.resource}\`,
  turn: \`/apis/\${apiVersion}/namespaces/default/\${turns.resource}\`,
};
const strict = '?fieldValidation=Strict';
const codec = new ObjectCodec(schemeFor(orchDialect));
const kind = codec.scheme.kind('v1', 'ConfigMap');
if (kind === undefined) throw new Error('no kind');
const answers = {
  owner: (await call(server, 'POST', paths.map + strict, { body: map })).json.owner,
  inProtobuf: codec.decode(codec.encode({ ...map }, kind, 'protobuf'), { encoding: 'protobuf' }).object.owner,
  created: (await call(server, 'POST', paths.turn + strict, { body: turn })).json,
  status: (await call(server, 'PATCH', \`\${paths.turn}/a/status\`, {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { last: 'b' } },
  })).json.status,
  unknown: (await call(server, 'POST', paths.turn + strict, { body: { ...turn, odd: 1 } })).status,
  list: (await call(server, 'GET', paths.turn)).json.kind,
  explained: (await call(server, 'GET', \`/openapi/v3/apis/\${apiVersion}\`)).text.includes('Whose turn it is.'),
};
await stop();
console.log(JSON.stringify(answers));
`;

t.setTimeout(300_000);
t.test('a field by one line, a kind by one file', { timeout: 240_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'contributing-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));

  const recipes = recipesOf(await readFile(join(root, 'CONTRIBUTING.md'), 'utf8'));
  const field = recipes.find(({ message }) => message !== undefined);
  const kind = recipes.find(({ message }) => message === undefined);
  if (field === undefined || kind === undefined) throw new Error('CONTRIBUTING.md shows no field or no kind');
  const before = await readFile(join(folder, field.path), 'utf8');
  const after = before.replace(
    new RegExp(`^( +)${field.message}: \\w+\\(.*\\{$`, 'm'),
    (line) => `${line}\n${field.code}`,
  );
  t.not(after, before, `${field.message} is in ${field.path}`);
  await writeFile(join(folder, field.path), after);
  await writeFile(join(folder, kind.path), kind.code);
  await writeFile(join(folder, 'test', 'use.ts'), use);

  await ok(t, folder, 'hack/generate.sh');
  await ok(t, folder, 'hack/build.sh');
  const answers = JSON.parse(await ok(t, folder, process.execPath, 'dist/test/use.js')) as Record<string, unknown>;
  t.match(answers, {
    owner: 'me',
    inProtobuf: 'me',
    created: { kind: 'Turn', metadata: { uid: /-/ }, spec: { players: ['b'] } },
    status: { last: 'b' },
    unknown: 400,
    list: 'TurnList',
    explained: true,
  });
  t.same((answers['created'] as { status?: unknown }).status, {}, 'status is not set by its creation');
});

interface Recipe {
  readonly path: string;
  /** The message that it belongs to; absent: the whole file. */
  readonly message?: string;
  readonly code: string;
}

/** TypeScript blocks that begin with the name of their file. */
function recipesOf(text: string): Recipe[] {
  const blocks = text.matchAll(/```ts\n\/\/ (\S+\.ts)(?:, (\w+))?\n(.*?)```/gs);
  return [...blocks].map(([, path = '', message, code = '']) => ({
    path,
    code,
    ...(message === undefined ? {} : { message }),
  }));
}

async function ok(t: Test, cwd: string, program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program.startsWith('hack/') ? join(cwd, program) : program, args, { cwd });
  t.equal(code, 0, program, { stdout, stderr });
  return stdout;
}
