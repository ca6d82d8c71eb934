import type { BootstrapToken } from '#api/core/v1/secret/bootstrap-token.js';
import { realClock } from '#apimachinery/clock.js';
import { connect } from '#client/rest/client-config.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { asSetupError } from '#cmd/orch/join-refusals.js';
import { type DiscoveredCluster, type DiscoverOptions, discoverCluster } from '#cmd/orch/joining/discover.js';
import { type ProgressSink, step } from '#cmd/orch/terminal/progress.js';
import { staticTls, staticToken } from '#http/client/credentials.js';

/** How long a token that was just made may take until it signs; ms. */
const signatureMs = 10_000;

/** Finds out who the cluster is that a machine is to join. Rejects with a SetupError. */
export function findCluster(
  of: Pick<DiscoverOptions, 'server' | 'token' | 'pin'>,
  sink: ProgressSink,
): Promise<DiscoveredCluster> {
  return step(
    sink,
    'cluster found',
    () => discoverCluster({ ...of, clock: realClock, waitMs: signatureMs }).catch(asSetupError),
    ({ server: known }) => known,
  );
}

/** A client with the rights of the token. */
export function tokenClient({ ca, dialect, server }: DiscoveredCluster, { id, secret }: BootstrapToken): RestClient {
  const target = { server, tls: staticTls({ ca }), token: staticToken(`${id}.${secret}`) };
  return connect({ ...target, namespace: 'default' }, { dialect, clock: realClock });
}
