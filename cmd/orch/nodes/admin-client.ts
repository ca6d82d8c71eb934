import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';

export interface AdminClientOptions {
  /** Of one request; absent: whatever it takes. */
  readonly timeoutMs?: number;
  /** What the program says that it is. */
  readonly userAgent?: string;
}

/** A client with all rights, of the API server of this machine. */
export async function adminClient(
  layout: Layout,
  { dialect }: Pick<ClusterSettings, 'dialect'>,
  options: AdminClientOptions = {},
): Promise<RestClient> {
  const config = await loadKubeconfig(layout.clientConfig, { clock: realClock });
  return connect(config, { dialect: dialectByName(dialect), clock: realClock, ...options });
}
