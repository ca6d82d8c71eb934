/**
 * Unmodified third-party operators. `OPERATORS=/path/one:/path/two` names folders, one for each:
 *
 *     manifests/   what installs it: applied as it is
 *     operator     the program, with its arguments (a script will do); it finds its client config in KUBECONFIG
 *     example/     what is asked of it: applied when its definitions are served
 *     expect       lines of arguments of kubectl, each of which must succeed within two minutes
 *
 * All but `expect` may be missing. An operator of these tests stands in its place in a folder of that form, so that the form
 * is known to work.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { eventually, kubectls, Running, run } from '#test/e2e/harness.js';

t.setTimeout(900_000);

const kubectl = (await kubectls()).at(-1);
const skip = kubectl === undefined && 'kubectl is missing';
const given = (process.env['OPERATORS'] ?? '').split(delimiter).filter((folder) => folder !== '');
const expectMs = 120_000;

for (const folder of [ownOperator(t.testdir()), ...given])
  t.test(basename(folder), { skip, timeout: 600_000 }, async (t) => installed(t, folder));

async function installed(t: Test, folder: string): Promise<void> {
  const cluster = await startCluster({ dialect: 'kubernetes', listen: true });
  t.teardown(() => cluster.close());
  const config = join(t.testdir(), 'client.config');
  writeFileSync(config, cluster.kubeconfig());
  const env = { KUBECONFIG: config };
  const ask = (...args: string[]) => run(kubectl ?? '', args, { env, timeoutMs: expectMs });
  const apply = async (part: string) => {
    const files = join(folder, part);
    if (!existsSync(files)) return;
    await eventually(`${part} is applied`, async () => {
      // Recursive, and once more where a part of it needs what another part defines.
      const { code, stderr } = await ask('apply', '--server-side', '-R', '-f', files);
      if (code !== 0) t.comment(stderr);
      return code === 0 || undefined;
    });
  };
  await apply('manifests');
  if ((await ask('get', 'customresourcedefinitions', '-o', 'name')).stdout !== '')
    t.equal((await ask('wait', '--for=condition=Established', 'customresourcedefinitions', '--all')).code, 0);
  const program = join(folder, 'operator');
  const operator = existsSync(program) ? new Running(program, [], env) : undefined;
  t.teardown(() => operator?.stop());
  await apply('example');
  for (const line of readFileSync(join(folder, 'expect'), 'utf8').split('\n')) {
    const args = line.split(/\s+/).filter((arg) => arg !== '');
    if (args.length === 0) continue;
    const isMet = async () => (await ask(...args)).code === 0 || undefined;
    await eventually(line, isMet, expectMs).then(
      () => t.pass(`kubectl ${line}`),
      (error: unknown) => t.fail(`kubectl ${line}`, { error: String(error), stderr: operator?.stderr.slice(-4000) }),
    );
  }
}

/** The folder of the operator of these tests, which brings its definition itself. */
function ownOperator(parent: string): string {
  const folder = join(parent, 'greetings');
  mkdirSync(join(folder, 'example'), { recursive: true });
  mkdirSync(join(folder, 'manifests'));
  const program = fileURLToPath(new URL('./extending/operator.js', import.meta.url));
  const groups = 'apiextensions.k8s.io coordination.k8s.io';
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$KUBECONFIG" one ${groups}\n`;
  writeFileSync(join(folder, 'operator'), script, { mode: 0o755 });
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'greeted' } };
  writeFileSync(join(folder, 'manifests', 'namespace.json'), JSON.stringify(namespace));
  const greeting = {
    apiVersion: 'demo.example.com/v1',
    kind: 'Greeting',
    metadata: { name: 'hello', namespace: 'greeted' },
    spec: { text: 'good morning', copies: 2 },
  };
  writeFileSync(join(folder, 'example', 'greeting.json'), JSON.stringify(greeting));
  writeFileSync(
    join(folder, 'expect'),
    'get configmap hello-1 -n greeted\nwait --for=jsonpath={.status.copies}=2 greeting/hello -n greeted --timeout=60s\n',
  );
  return folder;
}
