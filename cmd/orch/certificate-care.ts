/** Looks after the certificates of this machine as long as its programs run. */
import { backgroundWork } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { showCertificates } from '#cmd/orch/nodes/certificate-condition.js';
import { CertificateCare } from '#cmd/orch/pki/certificate-care.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import { holdCertificates } from '#daemon/certificates/expirations.js';

export function startCertificateCare(context: ClusterContext, { client, metrics }: RunningCluster): void {
  const { layout, clock, log, running, settings } = context;
  const [node = ''] = settings.nodes;
  const care = new CertificateCare({
    layout,
    clock,
    log,
    random: Math.random,
    tell: (ending) => showCertificates({ client, node, clock }, ending),
  });
  holdCertificates(metrics, () => care.ends());
  running.push(backgroundWork('care of the certificates', (signal) => care.run(signal)));
}
