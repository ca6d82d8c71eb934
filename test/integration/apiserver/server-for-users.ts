/** A complete API server in memory, for clients with users of their own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Dialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import type { TransportResponse } from '#client/rest/transport.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import type { Store } from '#storage/store.js';
import { startCompleteServer } from '#test/integration/apiserver/complete-server.js';

// biome-ignore lint/suspicious/noExplicitAny: answers of the server
type Any = any;

export interface Call {
  readonly body?: object;
  readonly accept?: string;
  readonly contentType?: string;
}

export interface UserClient {
  open(method: string, path: string, call?: Call): Promise<TransportResponse>;
  /** The body is text where it is no JSON. */
  send(method: string, path: string, call?: Call): Promise<{ readonly status: number; readonly body: Any }>;
  close(): Promise<void>;
}

/** `more`: further options. `store`: one with content; absent: an empty one. */
export async function serverForUsers(
  t: Pick<Test, 'teardown'>,
  dialect: Dialect,
  more: readonly string[] = [],
  store?: Store,
): Promise<(name: string, ...groups: string[]) => UserClient> {
  const folder = await mkdtemp(join(tmpdir(), 'server-for-users-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const keys = await generateRsaKey();
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const api = await startCompleteServer(t, {
    dialect,
    ...(store === undefined ? {} : { store }),
    argv: [
      ...['--secure-port=0', '--authorization-mode=Node,RBAC', '--service-account-issuer=https://test'],
      `--service-account-signing-key-file=${await file('key', privateKeyToPem(keys.privateKey))}`,
      `--service-account-key-file=${await file('pub', publicKeyToPem(keys.publicKey))}`,
      '--service-cluster-ip-range=10.96.0.0/24',
      ...more,
    ],
  });
  return (name, ...groups) => {
    const transport = new InProcessTransport({ handler: api.handler, user: { name, groups } });
    const open: UserClient['open'] = (method, path, { body, accept = 'application/json', contentType } = {}) => {
      const headers = { 'content-type': contentType ?? 'application/json', accept };
      const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
      return transport.request({ method, path, headers, ...sent });
    };
    const send: UserClient['send'] = async (method, path, call) => {
      const response = await open(method, path, call);
      const bytes = await readAll(response.body);
      const isJson = response.headers['content-type']?.startsWith('application/json') === true;
      return { status: response.status, body: isJson ? JSON.parse(bytes.toString()) : bytes.toString('latin1') };
    };
    return { open, send, close: () => transport.close() };
  };
}
