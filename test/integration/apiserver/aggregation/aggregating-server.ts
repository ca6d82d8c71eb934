/** A complete API server with a front proxy's certificate, as in a cluster. */
import { request } from 'node:https';
import type { Test } from 'tap';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIService, APIServiceCondition } from '#api/apiregistration/v1/types.gen.js';
import { services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import type { ClusterPki } from '#cluster/pki/cluster-pki.js';
import { issueCertificate } from '#pki/certificate.js';
import {
  type Extension,
  type ExtensionOptions,
  startExtension,
} from '#test/integration/apiserver/aggregation/extension-server.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

export interface Aggregating {
  readonly server: CompleteApiServer;
  readonly port: number;
  readonly pki: ClusterPki;
  readonly dialect: Dialect;
}

const tokens = 'admin,admin,1,"system:masters"\nalice,alice,2,"dev,ops: all"\ncarol,carol,3,none\n';

export async function startAggregating(
  t: Test,
  extra: readonly string[] = [],
  dialect: Dialect = orchDialect,
): Promise<Aggregating> {
  const { pki, argv } = await clusterCredentials(t, dialect, tokens);
  const server = await startCompleteServer(t, { dialect, argv: [...argv, ...extra], listens: true });
  return { server, port: server.address?.port ?? 0, pki, dialect };
}

/** An extension server behind a Service; its APIService names the authority of its certificate. */
export async function addExtension(
  t: Test,
  { server, pki }: Pick<Aggregating, 'server' | 'pki'>,
  name: string,
  options: Partial<ExtensionOptions> & { readonly spec?: Partial<APIService['spec']> } = {},
): Promise<Extension> {
  const { spec, ...rest } = options;
  const group = rest.group ?? `${name}.example.com`;
  const issued = await issueCertificate(pki.authority, {
    subject: { commonName: name, organizations: [] },
    usages: ['server'],
    names: [`${name}.default.svc`],
    now: Date.now(),
  });
  const frontProxyAuthority = pki.frontProxyAuthority.certificate;
  const extension = await startExtension(t, {
    group,
    cert: issued.certificate,
    key: issued.privateKey,
    frontProxyAuthority,
    ...rest,
  });
  // Endpoints on this machine are refused, but a host name may resolve to it.
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

/** Resolves with the condition as soon as it is as expected. */
export async function condition(
  { server }: Pick<Aggregating, 'server'>,
  name: string,
  isExpected: (condition: APIServiceCondition) => boolean,
): Promise<APIServiceCondition> {
  const own = server.client.resource<APIService>(apiservices);
  for (;;) {
    const current = (await own.get(name)).status?.conditions?.[0];
    if (current !== undefined && isExpected(current)) return current;
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

/** Over HTTPS, as the user of the token. Rejects when the response is truncated. */
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
