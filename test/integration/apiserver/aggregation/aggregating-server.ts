/** A complete API server with a front proxy's certificate, as a cluster has it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService, APIServiceCondition } from '#api/apiregistration/v1/types.gen.js';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { CompleteApiServer } from '#apiserver/complete-api-server.js';
import { buildApiServer } from '#apiserver/config.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { type ClusterPki, ensureClusterPki } from '#cmd/orch/pki/cluster-pki.js';
import { silentLogger } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { issueCertificate } from '#pki/certificate.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import {
  type Extension,
  type ExtensionOptions,
  startExtension,
} from '#test/integration/apiserver/aggregation/extension-server.js';

export interface Aggregating {
  readonly server: CompleteApiServer;
  readonly port: number;
  readonly pki: ClusterPki;
  readonly dialect: Dialect;
}

export async function startAggregating(t: Test, extra: readonly string[] = []): Promise<Aggregating> {
  const dialect = orchDialect;
  const directory = await mkdtemp(join(tmpdir(), 'aggregation-'));
  const store = new MemoryStore({ clock: realClock });
  const pki = await ensureClusterPki(directory, { dialect, names: [], ips: ['10.0.0.1'], now: Date.now() });
  const tokens = 'admin,admin,1,"system:masters"\nalice,alice,2,"dev,ops: all"\nnobody,nobody,3,none\n';
  await writeFile(join(directory, 'tokens.csv'), tokens);
  const file = (name: string) => join(directory, name);
  const argv = [
    ...['--bind-address', '127.0.0.1', '--advertise-address', '192.0.2.9', '--secure-port', '0'],
    ...['--tls-cert-file', file('apiserver.crt'), '--tls-private-key-file', file('apiserver.key')],
    ...['--client-ca-file', file('ca.crt'), '--token-auth-file', file('tokens.csv'), '--authorization-mode', 'RBAC'],
    ...['--service-account-issuer', 'https://api.example', '--service-cluster-ip-range', '10.0.0.0/24'],
    ...['--service-account-signing-key-file', file('sa.key'), '--service-account-key-file', file('sa.pub')],
    ...['--requestheader-client-ca-file', file('front-proxy-ca.crt')],
    ...[
      '--proxy-client-cert-file',
      file('front-proxy-client.crt'),
      '--proxy-client-key-file',
      file('front-proxy-client.key'),
    ],
    ...extra,
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  const server = await buildApiServer({
    dialect,
    clock: realClock,
    log: silentLogger,
    random: Math.random,
    store,
    values: parsed.values,
    listenOnAnyPort: true,
  });
  const stopping = new AbortController();
  const work = server.start(stopping.signal);
  await server.ready();
  t.teardown(async () => {
    stopping.abort();
    await work;
    await store.close();
    await rm(directory, { recursive: true });
  });
  return { server, port: server.address?.port ?? 0, pki, dialect };
}

/** An extension server behind a Service, with a certificate that its APIService names the authority of. */
export async function addExtension(
  t: Test,
  { server, pki }: Pick<Aggregating, 'server' | 'pki'>,
  name: string,
  options: Partial<ExtensionOptions> & { readonly spec?: Partial<APIService['spec']> } = {},
): Promise<Extension> {
  const { spec, ...rest } = options;
  const group = rest.group ?? `${name}.example.com`;
  const made = await issueCertificate(pki.authority, {
    subject: { commonName: name, organizations: [] },
    usages: ['server'],
    names: [`${name}.default.svc`],
    now: Date.now(),
  });
  const frontProxyAuthority = pki.frontProxyAuthority.certificate;
  const extension = await startExtension(t, {
    group,
    cert: made.certificate,
    key: made.privateKey,
    frontProxyAuthority,
    ...rest,
  });
  // An endpoint on this very machine is refused, but a name may stand for it.
  await server.client
    .resource<Service>(services)
    .create({ metadata: { name }, spec: { type: 'ExternalName', externalName: 'localhost' } } as Service, {
      namespace: 'default',
    });
  await server.client.resource<APIService>(apiservices).create({
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: 'v1',
      service: { namespace: 'default', name, port: extension.port },
      groupPriorityMinimum: 2000,
      versionPriority: 10,
      caBundle: Buffer.from(pki.authority.certificate).toString('base64'),
      ...spec,
    },
  });
  return extension;
}

/** Resolves with the condition as soon as it is as wanted. */
export async function condition(
  { server }: Pick<Aggregating, 'server'>,
  name: string,
  wanted: (condition: APIServiceCondition) => boolean,
): Promise<APIServiceCondition> {
  const own = server.client.resource<APIService>(apiservices);
  for (;;) {
    const found = (await own.get(name)).status?.conditions?.[0];
    if (found !== undefined && wanted(found)) return found;
    await realClock.sleep(20);
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  readonly json: any;
}

/** Over HTTPS, as the user of that token. Rejects when the answer breaks off. */
export function ask(
  { port }: Pick<Aggregating, 'port'>,
  token: string,
  method: string,
  path: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { authorization: `Bearer ${token}`, ...headers };
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: all,
      rejectUnauthorized: false,
      agent: false as const,
    };
    const outgoing = request(options, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const isJson = incoming.headers['content-type']?.startsWith('application/json') === true;
        const json: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
