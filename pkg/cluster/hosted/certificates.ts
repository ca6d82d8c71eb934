/**
 * `orch certificates`: creates the keys and certificates of a control plane that runs in a cluster, and renews those that
 * expire soon, in Secrets of that cluster. It is idempotent; of two concurrent runs one starts over.
 */

import { stdout } from 'node:process';
import { secrets } from '#api/core/v1/resources.gen.js';
import { joiningGroup } from '#api/core/v1/secret/bootstrap-token.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Client } from '#client/client.js';
import { connectHost } from '#cluster/hosted/host-client.js';
import { certificatesOptions, clientNames } from '#cluster/hosted/options.js';
import { type Files, type HostedClient, hostedSecrets } from '#cluster/hosted/secrets.js';
import { ensureClientPki, ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { ensureEtcdPki } from '#cluster/pki/etcd-pki.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import { OptionsError, type OptionValues } from '#daemon/options/option.js';
import { memoryFileStore } from '#pki/file-store.js';

export type CertificatesOptions = OptionValues<typeof certificatesOptions>;

const maxAttempts = 5;

export async function certificates(argv: readonly string[]): Promise<number> {
  const program = 'orch certificates';
  const description = 'Create or renew the certificates of a control plane that runs in a cluster, in its Secrets.';
  const parsed = commandOptions(certificatesOptions, argv, { program, description });
  if (parsed === undefined) return 0;
  const { values } = parsed;
  if (values.server === undefined || !URL.canParse(values.server))
    throw new OptionsError([
      '--server: must be the URL of the API server, such as https://orch-apiserver.default.svc:6443',
    ]);
  const { client, namespace } = await connectHost(values, program);
  try {
    const written = await ensureSecrets(client, { values, namespace, clock: realClock });
    for (const name of written) stdout.write(`secret/${name} written\n`);
    if (written.length === 0) stdout.write('all certificates are valid; nothing was written\n');
    return 0;
  } finally {
    await client.close();
  }
}

export interface EnsureSecretsInput {
  readonly values: CertificatesOptions;
  readonly namespace: string;
  readonly clock: Clock;
}

/** Resolves with the names of the written Secrets. */
export async function ensureSecrets(client: Client, input: EnsureSecretsInput): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ensureOnce(client, input);
    } catch (error) {
      if (!(error instanceof SecretChangedError) || attempt === maxAttempts) throw error;
    }
  }
}

/** Writes the Secret with all keys first: after a failure the other Secrets are derived from it again. */
async function ensureOnce(client: Client, { values, namespace, clock }: EnsureSecretsInput): Promise<string[]> {
  const { name, labels, server = '' } = values;
  const place = (suffix: string): SecretPlace => ({ name: `${name}-${suffix}`, namespace, labels });
  const all = place('pki');
  const existing = await readSecret(client, all);
  const files = new Map(Object.entries(filesOf(existing)));
  const store = memoryFileStore(files);
  const dialect = dialectByName(values.dialect === 'kubernetes' ? 'kubernetes' : 'orch');
  const times = { now: clock.now(), renewBeforeMs: values['renew-before'] };
  const hostname = new URL(server).hostname.replace(/^\[|\]$/g, '');
  const isAddress = ipFamily(hostname) !== 0;
  const cluster = await ensureClusterPki(store, {
    ...{ dialect, ...times },
    names: [...values['server-names'], ...(isAddress ? [] : [hostname])],
    ips: [...values['server-ips'], ...(isAddress ? [hostname] : [])],
  });
  const etcd = await ensureEtcdPki(store, { ...times, names: values['etcd-names'] });
  const clients = new Map<string, HostedClient>();
  for (const program of clientNames) {
    if (!values.clients.includes(program)) continue;
    const identity = identityOf(program, dialect);
    const pair = await ensureClientPki(store, cluster.authority, { file: program, ...identity, ...times });
    clients.set(program, { user: identity.user, pair });
  }
  const written: string[] = [];
  const save = async (at: SecretPlace, secret: Secret | undefined, content: Files) => {
    if (await saveSecret(client, at, { secret, files: content })) written.push(at.name);
  };
  await save(all, existing, Object.fromEntries(files));
  for (const [suffix, content] of hostedSecrets({ dialect, cluster, etcd, server, clients })) {
    const at = place(suffix);
    await save(at, await readSecret(client, at), content);
  }
  return written;
}

function identityOf(program: (typeof clientNames)[number], dialect: Dialect): { user: string; groups?: string[] } {
  const { users } = dialect;
  if (program === 'ingress') return { user: users.ingress };
  if (program === 'service-proxy') return { user: users.serviceProxy };
  // The bootstrap user may only request the certificate of a node.
  return { user: `${users.bootstrapPrefix}${program}`, groups: [joiningGroup(dialect)] };
}

interface SecretPlace {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Undefined for a missing Secret. */
async function readSecret(client: Client, { name, namespace }: SecretPlace): Promise<Secret | undefined> {
  try {
    return await client.resource(secrets).get(name, { namespace });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function filesOf(secret: Secret | undefined): Files {
  const data = Object.entries(secret?.data ?? {});
  return Object.fromEntries(data.map(([name, encoded]) => [name, Buffer.from(encoded, 'base64').toString('utf8')]));
}

/** Another client has changed the Secret meanwhile. */
class SecretChangedError extends Error {
  override readonly name = 'SecretChangedError';
}

/**
 * Writes the files to the Secret. Resolves with false when it has exactly these already. Rejects with a SecretChangedError
 * when it has changed since it was read.
 */
async function saveSecret(
  client: Client,
  place: SecretPlace,
  { secret, files }: { readonly secret: Secret | undefined; readonly files: Files },
): Promise<boolean> {
  const old = filesOf(secret);
  const names = new Set([...Object.keys(old), ...Object.keys(files)]);
  if (secret !== undefined && [...names].every((name) => old[name] === files[name])) return false;
  const data = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
  const { name, namespace, labels } = place;
  try {
    if (secret === undefined) await client.resource(secrets).create({ metadata: { name, namespace, labels }, data });
    else await client.resource(secrets).update({ ...secret, data });
    return true;
  } catch (error) {
    if (!isConflict(error) && !isAlreadyExists(error)) throw error;
    throw new SecretChangedError(`Secret ${namespace}/${name} was changed meanwhile`, { cause: error });
  }
}
