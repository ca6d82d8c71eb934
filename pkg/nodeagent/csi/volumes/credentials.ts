/** Secrets and tokens that drivers get with a volume. They never get into logs. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, SecretReference } from '#api/core/v1/types.gen.js';
import type { CSIDriver } from '#api/storage/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Client } from '#client/client.js';
import { volumeContextPrefix } from '#nodeagent/csi/volumes/requests.js';
import { defaultExpirationSeconds, type TokenManager } from '#nodeagent/volumes/tokens.js';

export interface CredentialsOptions {
  readonly client: Client;
  readonly tokens: Pick<TokenManager, 'get'>;
  /** Begins messages. */
  readonly pluginName: string;
}

export class Credentials {
  readonly #options: CredentialsOptions;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** The content of a secret; empty without a reference. Throws Error with 1.24's text. */
  async secret(
    reference: SecretReference | undefined,
    field: 'NodePublishSecretRef' | 'NodeStageSecretRef',
  ): Promise<Record<string, string>> {
    if (reference === undefined) return {};
    const { name = '', namespace = '' } = reference;
    const { client, pluginName } = this.#options;
    try {
      const { data = {} } = await client.resource(secrets).get(name, { namespace });
      return Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, decode(key, bytes)]));
    } catch (error) {
      const why = `${pluginName}: failed to find the secret ${name} in the namespace ${namespace} with error: ${messageOf(error)}`;
      throw new Error(`fetching ${field} ${namespace}/${name} failed: ${why}`, { cause: error });
    }
  }

  /** The member of the volume context with tokens for the audiences that the driver's object names. */
  async tokens(pod: Pod, object: CSIDriver | undefined): Promise<Record<string, string>> {
    const requests = object?.spec.tokenRequests ?? [];
    if (requests.length === 0) return {};
    const { client, tokens } = this.#options;
    const byAudience: Record<string, { token: string; expirationTimestamp: string }> = {};
    for (const { audience, expirationSeconds } of requests) {
      const seconds = Number(expirationSeconds ?? defaultExpirationSeconds);
      const { token, expirationTimestamp } = await tokens.get(pod, { audience, expirationSeconds: seconds });
      byAudience[audience] = { token, expirationTimestamp };
    }
    const sorted = Object.fromEntries(Object.entries(byAudience).sort(([a], [b]) => (a < b ? -1 : 1)));
    return { [`${volumeContextPrefix(client.dialect)}/serviceAccount.tokens`]: JSON.stringify(sorted) };
  }
}

/** CSI's secrets are text. */
function decode(key: string, bytes: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'base64'));
  } catch {
    throw new Error(`the value of ${key} is not UTF-8`);
  }
}
