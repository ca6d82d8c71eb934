/**
 * Finds out who a cluster is of which only an address, a token and the hash of its authority's key are known. Nothing that
 * comes over the connection is believed before both agree with it: the token's signature, and the hash.
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
import type { Clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { HttpTransport, type HttpTransportOptions } from '#client/rest/http-transport.js';
import { staticTls } from '#http/client/credentials.js';
import { publicKeyPin } from '#pki/pin.js';

/** Says what to do. */
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
  /** How long a new token may take until it signs. */
  readonly waitMs: number;
}

export interface DiscoveredCluster {
  readonly dialect: Dialect;
  /** Where the cluster says that it is reached. */
  readonly server: string;
  /** PEM of the authority. */
  readonly ca: string;
  /** The client config that it gives to everybody. */
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
    const found = await clusterInfo({ server, insecureSkipVerify: true, clock });
    const { dialect, data } = found;
    const text = data[clusterInfoKey(dialect)] ?? '';
    const signature = data[`${clusterInfoSignaturePrefix(dialect)}${token.id}`];
    if (signature !== undefined) {
      if (!sameText(signature, clusterInfoSignature(text, token)))
        throw new DiscoveryError(
          `${server} has a signature that is not of this token: it is another cluster, or the token is mistyped`,
        );
      const cluster = { ...trusted(text, { server, pin }), dialect, text };
      return await confirmed(cluster, server, clock);
    }
    if (clock.monotonic() >= deadline)
      throw new DiscoveryError(
        `${server} knows no token ${token.id} that signs: it has ended, or is mistyped; make one with: orchctl token create --print-join-command`,
      );
    await clock.sleep(pollMs);
  }
}

/** The authority whose key has the hash, and no other that may stand beside it. */
function trusted(text: string, { server, pin }: Pick<DiscoverOptions, 'server' | 'pin'>) {
  const [entry] = parseKubeconfig(text, `what ${server} tells of itself`).clusters;
  const { server: known = server, 'certificate-authority-data': data = '' } = entry?.cluster ?? {};
  const pems = certificatesInPem(Buffer.from(data, 'base64').toString('latin1')).map((der) =>
    encodePem('CERTIFICATE', der),
  );
  const ca = pems.filter((pem) => publicKeyPin(pem) === pin.toLowerCase()).join('');
  if (ca === '')
    throw new DiscoveryError(
      `the authority of ${server} has another key than --ca-hash says: it is another cluster, or somebody pretends to be it`,
    );
  return { server: known, ca };
}

/**
 * The cluster where it says that it is, or else where it was asked: of several servers the one that it names may be gone for
 * now.
 */
async function confirmed(cluster: DiscoveredCluster, asked: string, clock: Clock): Promise<DiscoveredCluster> {
  try {
    await confirm(cluster, clock);
    return cluster;
  } catch (error) {
    if (asked === cluster.server) throw error;
    const other = { ...cluster, server: asked };
    await confirm(other, clock).catch(() => {
      throw error;
    });
    return other;
  }
}

/** Where the cluster says that it is, it must prove itself by that authority, and say the same again. */
async function confirm({ server, ca, dialect, text }: DiscoveredCluster, clock: Clock): Promise<void> {
  const { data } = await clusterInfo({ server, tls: staticTls({ ca }), clock }, [dialect]);
  if (data[clusterInfoKey(dialect)] !== text)
    throw new DiscoveryError(`${server} says something else over a trusted connection; try again`);
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
      const { status, text } = await answer(transport, path, target.server);
      if (status === 200) return { dialect, data: dataOf(text, target.server) };
      refusals.push(`${path}: ${status}`);
    }
  } finally {
    await transport.close();
  }
  throw new DiscoveryError(
    `${target.server} does not say who it is (${refusals.join(', ')}): is it an API server of orch?`,
  );
}

async function answer(transport: HttpTransport, path: string, server: string) {
  try {
    const headers = { accept: 'application/json' };
    const signal = AbortSignal.timeout(requestMs);
    const { status, body } = await transport.request({ method: 'GET', path, headers, signal });
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of body) {
      size += part.length;
      if (size > maxBytes) throw new Error('it says too much of itself');
      parts.push(part);
    }
    return { status, text: Buffer.concat(parts).toString('utf8') };
  } catch (error) {
    throw new DiscoveryError(`cannot reach the API server at ${server}: ${messageOf(error)}`, { cause: error });
  }
}

function dataOf(text: string, server: string): Record<string, string> {
  let data: unknown;
  try {
    data = (JSON.parse(text) as { data?: unknown } | null)?.data;
  } catch (error) {
    throw new DiscoveryError(`${server} answers with something that is no JSON`, { cause: error });
  }
  if (typeof data !== 'object' || data === null || !Object.values(data).every((value) => typeof value === 'string'))
    throw new DiscoveryError(`${server} has nothing to say of itself`);
  return data as Record<string, string>;
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
