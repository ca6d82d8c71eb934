/**
 * Selects the kubeconfig of an agent with TLS bootstrap: its own while its certificate is valid, else the bootstrap
 * one, with which the agent requests a certificate and from which its own is derived.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { isUnexpired, withValidity } from '#client/certificate/key-certificate.js';
import {
  type Cluster,
  formatKubeconfig,
  type Kubeconfig,
  KubeconfigError,
  parseKubeconfig,
} from '#client/kubeconfig/file.js';
import { withAbsolutePaths } from '#client/kubeconfig/merge.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { writeFileAtomic } from '#pki/file-store.js';

/** The certificate and key of a client config. Rejects if it has none, or an expired one. */
export async function validCertificate({ tls }: ClientConfig, clock: Clock): Promise<KeyCertificate> {
  const { cert, key } = (await tls?.current()) ?? {};
  if (cert === undefined || key === undefined) throw new KubeconfigError('it has no client certificate');
  const pair = withValidity({ certificate: cert.toString(), privateKey: key.toString() });
  if (!isUnexpired(pair, clock.now()))
    throw new KubeconfigError(`its client certificate expired at ${new Date(pair.notAfter).toISOString()}`);
  return pair;
}

/** Writes the agent's own kubeconfig: the cluster of the bootstrap one, with the certificate in `file`. */
export async function writeOwnConfig(
  path: string,
  { bootstrapPath, file }: { readonly bootstrapPath: string; readonly file: string },
): Promise<void> {
  const text = await readFile(bootstrapPath, 'utf8');
  const parsed = withAbsolutePaths(parseKubeconfig(text, bootstrapPath), dirname(bootstrapPath), bootstrapPath);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFileAtomic(path, formatKubeconfig(ownConfig(parsed, file)), 0o600);
}

/** A kubeconfig with the cluster of the current context, and 1.24's names. Throws KubeconfigError without one. */
function ownConfig(bootstrap: Kubeconfig, file: string): Kubeconfig {
  const current = bootstrap['current-context'];
  const context = bootstrap.contexts.find(({ name }) => name === current)?.context;
  const cluster = bootstrap.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  if (context === undefined || cluster === undefined)
    throw new KubeconfigError(`the bootstrap config has no cluster for its current context ${JSON.stringify(current)}`);
  const { namespace } = context;
  const names = { cluster: 'default-cluster', user: 'default-auth' };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: names.cluster, cluster: withoutExtensions(cluster) }],
    users: [{ name: names.user, user: { 'client-certificate': file, 'client-key': file } }],
    contexts: [{ name: 'default-context', context: { ...names, ...(namespace === undefined ? {} : { namespace }) } }],
    'current-context': 'default-context',
  };
}

/** The cluster without extensions of other programs. */
function withoutExtensions({ extensions: _, ...cluster }: Cluster): Cluster {
  return cluster;
}
