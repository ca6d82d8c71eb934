/** Which signatures what the cluster tells of itself is to have: one of each token. Pure. */
import {
  clusterInfoKey,
  clusterInfoSignature,
  clusterInfoSignaturePrefix,
} from '#api/core/v1/configmap/cluster-info.js';
import {
  type BootstrapToken,
  bootstrapTokenExpiryMs,
  bootstrapTokenIdOf,
  bootstrapTokenText,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { ConfigMap, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/**
 * The map with a signature for each token that may sign, and no others; undefined when it is right already, or says
 * nothing that could be signed.
 */
export function signedInfo(
  dialect: Dialect,
  info: ConfigMap,
  tokens: readonly Secret[],
  nowMs: number,
): ConfigMap | undefined {
  const { data = {} } = info;
  const content = data[clusterInfoKey(dialect)];
  if (content === undefined) return undefined;
  const prefix = clusterInfoSignaturePrefix(dialect);
  const others = Object.entries(data).filter(([key]) => !key.startsWith(prefix));
  const signatures = tokens.flatMap((secret): [string, string][] => {
    const token = signingToken(secret, nowMs);
    return token === undefined ? [] : [[`${prefix}${token.id}`, clusterInfoSignature(content, token)]];
  });
  const wanted = Object.fromEntries([...others, ...signatures]);
  const keys = Object.keys(wanted);
  const same = keys.length === Object.keys(data).length && keys.every((key) => wanted[key] === data[key]);
  return same ? undefined : { ...info, data: wanted };
}

/** After how many milliseconds the first of the tokens that sign now does so no more; undefined when none ends. */
export function nextExpiryMs(tokens: readonly Secret[], nowMs: number): number | undefined {
  const ends = tokens.filter((secret) => signingToken(secret, nowMs) !== undefined).map(bootstrapTokenExpiryMs);
  const first = Math.min(...ends);
  return Number.isFinite(first) ? first - nowMs : undefined;
}

/** Undefined when the secret is no token that signs. */
function signingToken(secret: Secret, nowMs: number): BootstrapToken | undefined {
  const text = (key: string) => bootstrapTokenText(secret, key);
  const token = { id: text('token-id'), secret: text('token-secret') };
  if (token.id === '' || bootstrapTokenIdOf(secret.metadata.name ?? '') !== token.id || token.secret === '') {
    return undefined;
  }
  if (bootstrapTokenExpiryMs(secret) <= nowMs || text('usage-bootstrap-signing') !== 'true') return undefined;
  return token;
}
