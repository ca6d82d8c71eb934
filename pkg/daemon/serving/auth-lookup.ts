/** The authentication settings that the API server publishes for other servers of its cluster. */
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseJsonList } from '#daemon/serving/json-list.js';
import type { ReviewClient } from '#daemon/serving/user.js';

export interface PublishedAuthentication {
  /** PEM bundles; absent where none is published. */
  readonly clientCa?: string;
  readonly requestHeaderClientCa?: string;
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

/** Name of the ConfigMap in the system namespace, the same in every dialect. */
const configMapName = 'extension-apiserver-authentication';

/** Reads the settings. Rejects with the client's errors. */
export async function lookUpAuthentication(client: ReviewClient, dialect: Dialect): Promise<PublishedAuthentication> {
  const path = `/api/v1/namespaces/${dialect.namespaces.system}/configmaps/${configMapName}`;
  const { data = {} } = await client.request<ConfigMap>('GET', path);
  const clientCa = data['client-ca-file'];
  const requestHeaderClientCa = data['requestheader-client-ca-file'];
  return {
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(requestHeaderClientCa === undefined ? {} : { requestHeaderClientCa }),
    allowedNames: parseJsonList(data['requestheader-allowed-names']),
    usernameHeaders: parseJsonList(data['requestheader-username-headers']),
    groupHeaders: parseJsonList(data['requestheader-group-headers']),
    extraPrefixes: parseJsonList(data['requestheader-extra-headers-prefix']),
  };
}
