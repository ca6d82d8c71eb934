/**
 * Discovers a cluster from an address, a token and the hash of its authority's key. Data from the unauthenticated connection
 * is trusted only after both match: the token's signature, and the hash.
 */
import { timingSafeEqual } from 'node:crypto';
import {
  clusterInfoKey,
  clusterInfoName,
  clusterInfoSignature,
  clusterInfoSignaturePrefix,
} from '#api/core/v1/configmap/cluster-info.js';
import type { BootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { certificatesInPem, encodePem } from '#apimachinery/asn1/pem.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { connect } from '#client/rest/client-config.js';
import { HttpTransport, type HttpTransportOptions } from '#client/rest/http-transport.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { asSetupError } from '#cluster/join/refusals.js';
import { type ProgressSink, step } from '#cluster/terminal/progress.js';
import { staticTls, staticToken } from '#http/client/credentials.js';
import { publicKeyPin } from '#pki/keys.js';

class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
}

export interface DiscoverOptions {
  /** `https://host:port`. */
  readonly server: string;
  readonly token: BootstrapToken;
  /** `sha256:…` of the public key of the cluster's authority. */
  readonly pin: string;
  readonly clock: Clock;
  /** Longest wait for the signature of a new token. */
  readonly waitMs: number;
}

export interface DiscoveredCluster {
  readonly dialect: Dialect;
  /** URL of the API server as the cluster publishes it. */
  readonly server: string;
  /** PEM of the authority. */
  readonly ca: string;
  /** The published client config. */
  readonly text: string;
}

const pollMs = 200;
const requestMs = 10_000;
const maxBytes = 256 * 1024;

/** Rejects with a DiscoveryError. */
export async function discoverCluster(options: DiscoverOptions): Promise<DiscoveredCluster> {
  const { clock, pin, server, token, waitMs } = options;
  const deadline = clock.monotonic() + waitMs;
  for (;;) {
    const { dialect, data } = await clusterInfo({ server, insecureSkipVerify: true, clock });
    const text = data[clusterInfoKey(dialect)] ?? '';
    const signature = data[`${clusterInfoSignaturePrefix(dialect)}${token.id}`];
    if (signature !== undefined) {
      if (!sameText(signature, clusterInfoSignature(text, token)))
        throw new DiscoveryError(
          `the signature of ${server} does not match the token: it is another cluster, or the token is mistyped`,
        );
      const cluster = { ...pinnedCluster(text, { server, pin }), dialect, text };
      return await reachable(cluster, server, clock);
    }
    if (clock.monotonic() >= deadline)
      throw new DiscoveryError(
        `${server} has no signature of token ${token.id}: the token has expired, or is mistyped; create one with: orchctl token create --print-join-command`,
      );
    await clock.sleep(pollMs);
  }
}

/** The published server and the authority that matches the pin; further authorities are dropped. */
function pinnedCluster(text: string, { server, pin }: Pick<DiscoverOptions, 'server' | 'pin'>) {
  const [entry] = parseKubeconfig(text, `the cluster info of ${server}`).clusters;
  const { server: published = server, 'certificate-authority-data': data = '' } = entry?.cluster ?? {};
  const pems = certificatesInPem(Buffer.from(data, 'base64').toString('latin1')).map((der) =>
    encodePem('CERTIFICATE', der),
  );
  const ca = pems.filter((pem) => publicKeyPin(pem) === pin.toLowerCase()).join('');
  if (ca === '')
    throw new DiscoveryError(
      `the authority of ${server} does not match --ca-hash: it is another cluster, or an impostor`,
    );
  return { server: published, ca };
}

/** The cluster at its published server, or else at the requested one: one of several servers may be down. */
async function reachable(cluster: DiscoveredCluster, requested: string, clock: Clock): Promise<DiscoveredCluster> {
  try {
    await confirm(cluster, clock);
    return cluster;
  } catch (error) {
    if (requested === cluster.server) throw error;
    const other = { ...cluster, server: requested };
    await confirm(other, clock).catch(() => {
      throw error;
    });
    return other;
  }
}

/** Checks that the server has a certificate of the authority and publishes the same info. */
async function confirm({ server, ca, dialect, text }: DiscoveredCluster, clock: Clock): Promise<void> {
  const { data } = await clusterInfo({ server, tls: staticTls({ ca }), clock }, [dialect]);
  if (data[clusterInfoKey(dialect)] !== text)
    throw new DiscoveryError(`${server} has other cluster info over a trusted connection; try again`);
}

interface ClusterInfo {
  readonly dialect: Dialect;
  readonly data: Readonly<Record<string, string>>;
}

async function clusterInfo(
  target: HttpTransportOptions,
  dialects: readonly Dialect[] = [orchDialect, kubernetesDialect],
): Promise<ClusterInfo> {
  const transport = new HttpTransport(target);
  const refusals: string[] = [];
  try {
    for (const dialect of dialects) {
      const path = `/api/v1/namespaces/${dialect.namespaces.public}/configmaps/${clusterInfoName}`;
      const { status, text } = await get(transport, path, target.server);
      if (status === 200) return { dialect, data: parseData(text, target.server) };
      refusals.push(`${path}: ${status}`);
    }
  } finally {
    await transport.close();
  }
  throw new DiscoveryError(
    `${target.server} has no cluster info (${refusals.join(', ')}): is it an API server of orch?`,
  );
}

async function get(transport: HttpTransport, path: string, server: string) {
  try {
    const headers = { accept: 'application/json' };
    const signal = AbortSignal.timeout(requestMs);
    const { status, body } = await transport.request({ method: 'GET', path, headers, signal });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body) {
      size += part.length;
      if (size > maxBytes) throw new Error(`its cluster info is larger than ${maxBytes} bytes`);
      parts.push(part);
    }
    return { status, text: Buffer.concat(parts).toString('utf8') };
  } catch (error) {
    throw new DiscoveryError(`cannot reach the API server at ${server}: ${messageOf(error)}`, { cause: error });
  }
}

function parseData(text: string, server: string): Record<string, string> {
  let data: unknown;
  try {
    data = (JSON.parse(text) as { data?: unknown } | null)?.data;
  } catch (error) {
    throw new DiscoveryError(`the cluster info of ${server} is no JSON`, { cause: error });
  }
  if (typeof data !== 'object' || data === null || !Object.values(data).every((value) => typeof value === 'string'))
    throw new DiscoveryError(`the cluster info of ${server} has no data`);
  return data as Record<string, string>;
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Longest wait for the signature of a new token; ms. */
const signatureMs = 10_000;

/** Discovers the cluster to join, with progress. Rejects with a SetupError. */
export function findCluster(
  target: Pick<DiscoverOptions, 'server' | 'token' | 'pin'>,
  sink: ProgressSink,
): Promise<DiscoveredCluster> {
  return step(
    sink,
    'cluster found',
    () => discoverCluster({ ...target, clock: realClock, waitMs: signatureMs }).catch(asSetupError),
    ({ server }) => server,
  );
}

/** A client with the rights of the token. */
export function tokenClient({ ca, dialect, server }: DiscoveredCluster, { id, secret }: BootstrapToken): RestClient {
  const target = { server, tls: staticTls({ ca }), token: staticToken(`${id}.${secret}`) };
  return connect({ ...target, namespace: 'default' }, { dialect, clock: realClock });
}
