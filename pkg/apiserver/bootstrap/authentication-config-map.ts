/** Publishes in a ConfigMap how API servers authenticate users; extension API servers and other daemons read it. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { certificatesInPem, encodePem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { authenticationConfigMap } from '#apiserver/bootstrap/bindings.js';
import type { Client } from '#client/client.js';
import { parseJsonList } from '#daemon/serving/json-list.js';
import { certificateTimes } from '#pki/x509.js';

export interface AuthenticationFacts {
  /** PEM bundle; undefined without client authorities. */
  readonly clientCA: string | undefined;
  readonly requestHeaderCA: string | undefined;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

/** How long an expired certificate stays published, as in 1.24. */
const expirySlackMs = 300_000;
const maxTries = 10;

/** Adds this server's facts to those that other servers have published. Rejects with the client's errors. */
export async function publishAuthentication(
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  facts: AuthenticationFacts,
  signal: AbortSignal,
): Promise<void> {
  const namespace = client.dialect.namespaces.system;
  const resource = client.resource<ConfigMap>(configmaps);
  for (let tries = 1; ; tries++) {
    try {
      const published = await resource.get(authenticationConfigMap, { namespace, signal });
      const data = combinedData(published.data ?? {}, facts, clock.now());
      if (!sameData(data, published.data ?? {})) await resource.update({ ...published, data }, { namespace, signal });
      return;
    } catch (error) {
      if (isNotFound(error)) {
        const data = combinedData({}, facts, clock.now());
        if (Object.keys(data).length === 0) return;
        try {
          await resource.create(
            { metadata: { name: authenticationConfigMap, namespace }, data },
            { namespace, signal },
          );
          return;
        } catch (failure) {
          if (!isAlreadyExists(failure) || tries >= maxTries) throw failure;
        }
      } else if (!isConflict(error) || tries >= maxTries) throw error;
    }
  }
}

/**
 * Combines the facts of all servers, without expired certificates. Header names need an authority of front proxies. Other members
 * of the ConfigMap stay. `now` in ms since the epoch. Pure.
 */
export function combinedData(
  published: Readonly<Record<string, string>>,
  facts: AuthenticationFacts,
  now: number,
): Record<string, string> {
  const data: Record<string, string> = { ...published };
  const clientCA = combinedBundle(published['client-ca-file'], facts.clientCA, now);
  if (clientCA !== '') data['client-ca-file'] = clientCA;
  const requestHeaderCA = combinedBundle(published['requestheader-client-ca-file'], facts.requestHeaderCA, now);
  if (requestHeaderCA === '') return data;
  data['requestheader-client-ca-file'] = requestHeaderCA;
  const lists = {
    'requestheader-allowed-names': facts.allowedNames,
    'requestheader-username-headers': facts.usernameHeaders,
    'requestheader-group-headers': facts.groupHeaders,
    'requestheader-extra-headers-prefix': facts.extraHeaderPrefixes,
  };
  for (const [key, values] of Object.entries(lists))
    data[key] = JSON.stringify([...new Set([...parseJsonList(published[key]), ...values])]);
  return data;
}

/** The certificates of both bundles, each once. */
function combinedBundle(published: string | undefined, own: string | undefined, now: number): string {
  const blocks = [published, own]
    .flatMap((text) => certificatesInPem(text ?? ''))
    .filter((der) => expiryMs(der) > now - expirySlackMs)
    .map((der) => encodePem('CERTIFICATE', der));
  return [...new Set(blocks)].join('');
}

/** Expiry in ms since the epoch. A malformed certificate counts as expired: other users may have written the ConfigMap. */
function expiryMs(der: Buffer): number {
  try {
    return certificateTimes(der).notAfter;
  } catch {
    return -Infinity;
  }
}

function sameData(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
