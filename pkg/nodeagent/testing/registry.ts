/** A local image registry for tests: every repository has the same image, and some need a password. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';

export interface TestRegistryOptions {
  /** Directory of an OCI image layout. */
  readonly layout: string;
  /** Name of the image in it. */
  readonly image: string;
  /** By repository: `user:password`. All others need none. */
  readonly passwords: Readonly<Record<string, string>>;
}

export interface TestRegistry {
  /** `127.0.0.1:5000`. */
  readonly address: string;
  /** Repository and user of each served manifest. */
  readonly served: { readonly repository: string; readonly user: string }[];
}

interface Index {
  readonly manifests: readonly { mediaType: string; digest: string; annotations: Readonly<Record<string, string>> }[];
}

/** Kinds of hostile registries: the last part of a repository's name below `lies/`. */
export const registryLies = ['hangs', 'circles', 'forges', 'endless', 'twice', 'babbles'] as const;
type RegistryLie = (typeof registryLies)[number];

const chunkBytes = 1 << 16;

/** Answers a request for a manifest or a blob in a hostile way. `data`: the correct answer. */
function sendFalseResponse(kind: RegistryLie, request: IncomingMessage, response: ServerResponse, data: Buffer): void {
  const { url = '', method } = request;
  const size = { 'content-length': data.length };
  switch (kind) {
    case 'hangs':
      response.writeHead(200, size);
      if (method === 'HEAD') response.end();
      else response.write(data.subarray(0, data.length / 2));
      return;
    case 'circles':
      response.writeHead(307, { location: url }).end();
      return;
    case 'forges':
      response.writeHead(200, size);
      response.end(method === 'HEAD' ? undefined : Buffer.from(data).fill('x', 0, 16));
      return;
    case 'endless': {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(chunkBytes, 'x')));
      };
      response.on('drain', more);
      if (method === 'HEAD') response.end();
      else more();
      return;
    }
    case 'twice': {
      const once = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`;
      request.socket.end(once + once);
      return;
    }
    case 'babbles':
      request.socket.end('x'.repeat(chunkBytes));
      return;
    default:
      kind satisfies never;
  }
}

/** Listens until the test ends. Repositories below `none/` do not exist, and those below `lies/` are hostile. */
export async function serveRegistry(t: Test, options: TestRegistryOptions): Promise<TestRegistry> {
  const served: TestRegistry['served'] = [];
  const server = createServer((request, response) => {
    answer(request, response, { ...options, served }).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, served };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { layout, image, passwords, served }: TestRegistryOptions & Pick<TestRegistry, 'served'>,
): Promise<void> {
  const { url = '', method, headers } = request;
  const [, repository = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
  const authorization = Buffer.from(/^Basic (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '', 'base64').toString();
  if (passwords[repository] !== undefined && passwords[repository] !== authorization) {
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
  const kindOfLie = registryLies.find((each) => repository === `lies/${each}`);
  if (kindOfLie !== undefined) return sendFalseResponse(kindOfLie, request, response, data);
  if (kind === 'manifests') served.push({ repository, user: authorization.split(':')[0] ?? '' });
  response.writeHead(200, {
    'content-type': kind === 'manifests' ? (manifest?.mediaType ?? '') : 'application/octet-stream',
    'content-length': data.length,
    'docker-content-digest': digest,
  });
  response.end(method === 'HEAD' ? undefined : data);
}
