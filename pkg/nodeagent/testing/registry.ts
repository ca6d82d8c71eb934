/** An image registry on loopback, for tests: every repository has the same image, and some ask for a password. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';

export interface TestRegistryOptions {
  /** Folder of an OCI image layout. */
  readonly layout: string;
  /** Name of the image in it. */
  readonly image: string;
  /** By repository: `user:password`. All others are open to everybody. */
  readonly passwords: Readonly<Record<string, string>>;
}

export interface TestRegistry {
  /** `127.0.0.1:5000`. */
  readonly address: string;
  /** Repository and user of each manifest that was given away. */
  readonly given: { readonly repository: string; readonly user: string }[];
}

interface Index {
  readonly manifests: readonly { mediaType: string; digest: string; annotations: Readonly<Record<string, string>> }[];
}

/** Listens until the test ends. Below `none/` there is nothing. */
export async function serveRegistry(t: Test, options: TestRegistryOptions): Promise<TestRegistry> {
  const given: TestRegistry['given'] = [];
  const server = createServer((request, response) => {
    answer(request, response, { ...options, given }).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, given };
}

async function answer(
  { url = '', method, headers }: IncomingMessage,
  response: ServerResponse,
  { layout, image, passwords, given }: TestRegistryOptions & Pick<TestRegistry, 'given'>,
): Promise<void> {
  const [, repository = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
  const told = Buffer.from(/^Basic (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '', 'base64').toString();
  if (passwords[repository] !== undefined && passwords[repository] !== told) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
    return;
  }
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as Index;
  const manifest = index.manifests.find(({ annotations }) => annotations['io.containerd.image.name'] === image);
  const digest = reference.startsWith('sha256:') ? reference : (manifest?.digest ?? '');
  const data = await readFile(join(layout, 'blobs', 'sha256', digest.slice('sha256:'.length))).catch(() => undefined);
  if (kind === undefined || data === undefined || repository.startsWith('none/')) {
    response.writeHead(404).end();
    return;
  }
  if (kind === 'manifests') given.push({ repository, user: told.split(':')[0] ?? '' });
  response.writeHead(200, {
    'content-type': kind === 'manifests' ? (manifest?.mediaType ?? '') : 'application/octet-stream',
    'content-length': data.length,
    'docker-content-digest': digest,
  });
  response.end(method === 'HEAD' ? undefined : data);
}
