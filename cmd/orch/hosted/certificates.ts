/**
 * `orch certificates`: makes the keys and certificates of a control plane that runs in a cluster, and renews what is about to
 * expire, in Secrets of that cluster. Twice is as good as once; of two that run at once, one begins anew.
 */
import { env, stderr, stdout } from 'node:process';
import { joiningGroup } from '#api/core/v1/secret/bootstrap-token.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, dialectByName } from '#apimachinery/dialect.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import type { Client } from '#client/client.js';
import { inClusterConfig } from '#client/kubeconfig/in-cluster.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { certificatesOptions, clientNames } from '#cmd/orch/hosted/options.js';
import {
  filesOf,
  readSecret,
  SecretChangedError,
  type SecretPlace,
  saveSecret,
} from '#cmd/orch/hosted/secret-files.js';
import { type Files, type HostedClient, hostedSecrets } from '#cmd/orch/hosted/secrets.js';
import { ensureClientPki, ensureClusterPki } from '#cmd/orch/pki/cluster-pki.js';
import { ensureEtcdPki } from '#cmd/orch/pki/etcd-pki.js';
import { OptionsError } from '#daemon/options/errors.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionValues } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { memoryFileStore } from '#pki/file-store.js';

export type CertificatesOptions = OptionValues<typeof certificatesOptions>;

const tries = 5;

export async function certificates(argv: readonly string[]): Promise<number> {
  const program = 'orch certificates';
  const parsed = parseOptions(certificatesOptions, argv, { program });
  if (parsed.kind !== 'run') {
    const description = 'Make, or renew, the certificates of a control plane that runs in a cluster, in its Secrets.';
    stdout.write(helpText(certificatesOptions, { program, description }));
    return 0;
  }
  for (const warning of parsed.warnings) stderr.write(`Warning: ${warning}\n`);
  const { values } = parsed;
  if (values.server === undefined || !URL.canParse(values.server))
    throw new OptionsError([
      '--server: the URL of the API server is needed, such as https://orch-apiserver.default.svc:6443',
    ]);
  const dialect = dialectByName(values['host-dialect'] === 'orch' ? 'orch' : 'kubernetes');
  const config =
    values.kubeconfig === undefined
      ? await inClusterConfig({ dialect, clock: realClock, env })
      : await loadKubeconfig(values.kubeconfig, { clock: realClock, env });
  const transport = new HttpTransport({ ...config, clock: realClock });
  const client = new RestClient({ transport, dialect, clock: realClock, userAgent: `${program}/${dialect.version}` });
  try {
    const namespace = values.namespace ?? config.namespace ?? dialect.namespaces.default;
    const written = await ensureSecrets(client, { values, namespace, clock: realClock });
    for (const name of written) stdout.write(`secret/${name} written\n`);
    if (written.length === 0) stdout.write('all certificates are good; nothing was written\n');
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

/** Names of the Secrets that were written. */
export async function ensureSecrets(client: Client, input: EnsureSecretsInput): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ensureOnce(client, input);
    } catch (error) {
      if (!(error instanceof SecretChangedError) || attempt === tries) throw error;
    }
  }
}

/** What has everything is written first: what programs have is made of it again after any failure. */
async function ensureOnce(client: Client, { values, namespace, clock }: EnsureSecretsInput): Promise<string[]> {
  const { name, labels, server = '' } = values;
  const place = (suffix: string): SecretPlace => ({ name: `${name}-${suffix}`, namespace, labels });
  const all = place('pki');
  const found = await readSecret(client, all);
  const files = new Map(Object.entries(filesOf(found)));
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
  const save = async (at: SecretPlace, has: typeof found, wanted: Files) => {
    if (await saveSecret(client, at, { found: has, files: wanted })) written.push(at.name);
  };
  await save(all, found, Object.fromEntries(files));
  for (const [suffix, wanted] of hostedSecrets({ dialect, cluster, etcd, server, clients })) {
    const at = place(suffix);
    await save(at, await readSecret(client, at), wanted);
  }
  return written;
}

function identityOf(program: (typeof clientNames)[number], dialect: Dialect): { user: string; groups?: string[] } {
  const { users } = dialect;
  if (program === 'ingress') return { user: users.ingress };
  if (program === 'service-proxy') return { user: users.serviceProxy };
  // All that it may do is to ask for the certificate of a node.
  return { user: `${users.bootstrapPrefix}${program}`, groups: [joiningGroup(dialect)] };
}
