/** Tells extension API servers and other daemons, in a ConfigMap, how this server recognizes users. */
import { configmaps } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { authenticationConfigMap } from '#apiserver/bootstrap/bindings.js';
import type { Client } from '#client/client.js';

export interface AuthenticationFacts {
  /** PEM; undefined when there are none. */
  readonly clientCA: string | undefined;
  readonly requestHeaderCA: string | undefined;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
}

export async function publishAuthentication(
  client: Client,
  facts: AuthenticationFacts,
  signal: AbortSignal,
): Promise<void> {
  const data: Record<string, string> = {};
  if (facts.clientCA !== undefined) data['client-ca-file'] = facts.clientCA;
  if (facts.requestHeaderCA !== undefined) {
    data['requestheader-client-ca-file'] = facts.requestHeaderCA;
    data['requestheader-allowed-names'] = JSON.stringify(facts.allowedNames);
    data['requestheader-username-headers'] = JSON.stringify(facts.usernameHeaders);
    data['requestheader-group-headers'] = JSON.stringify(facts.groupHeaders);
    data['requestheader-extra-headers-prefix'] = JSON.stringify(facts.extraHeaderPrefixes);
  }
  if (Object.keys(data).length === 0) return;
  const namespace = client.dialect.namespaces.system;
  const own = client.resource<ConfigMap>(configmaps);
  try {
    const found = await own.get(authenticationConfigMap, { namespace, signal });
    const merged = { ...found.data, ...data };
    if (JSON.stringify(merged) !== JSON.stringify(found.data))
      await own.update({ ...found, data: merged }, { namespace, signal });
  } catch (error) {
    if (isConflict(error)) return;
    if (!isNotFound(error)) throw error;
    await own
      .create({ metadata: { name: authenticationConfigMap, namespace }, data }, { namespace, signal })
      .catch((failure: unknown) => {
        if (!isAlreadyExists(failure)) throw failure;
      });
  }
}
