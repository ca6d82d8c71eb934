/** The server that the commands are compared on: of the `kubernetes` dialect, in memory. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { call, runServer } from '#test/integration/apiserver/server.js';
import type { Variable } from '#test/integration/client/kubectl/answer.js';
import { writeFiles } from '#test/integration/client/kubectl/files.js';

export interface Place extends Variable {
  /** Client configuration. */
  readonly config: string;
  stop(): Promise<void>;
}

const namespaces = ['default', 'kube-system'];

export async function preparePlace(): Promise<Place> {
  const { server, stop } = await runServer({ https: true, dialect: kubernetesDialect });
  for (const name of namespaces) {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await call(server, 'POST', '/api/v1/namespaces', { body });
  }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-a', labels: { zone: 'a' } } };
  await call(server, 'POST', '/api/v1/nodes', { body: node });
  const folder = await mkdtemp(join(tmpdir(), 'compare-'));
  await writeFiles(folder);
  const address = `127.0.0.1:${server.address?.port}`;
  const config = join(folder, 'config');
  await writeFile(
    config,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: [{ name: 'c', cluster: { server: `https://${address}`, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'any' } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  return {
    folder,
    server: address,
    config,
    async stop() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** The arguments with the paths of files. */
export function withPaths(args: readonly string[], { folder }: Place): string[] {
  return args.map((arg) => arg.replace(/(^|=)@(?=\w)/, `$1${folder}/`));
}
