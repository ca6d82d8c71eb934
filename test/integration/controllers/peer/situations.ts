/** All situations. */
import type { Situation } from '#test/integration/controllers/peer/situation.js';
import { cronJobs } from '#test/integration/controllers/peer/situations/cronjobs.js';
import { daemonSets } from '#test/integration/controllers/peer/situations/daemonsets.js';
import { deployments } from '#test/integration/controllers/peer/situations/deployments.js';
import { endpointSituations } from '#test/integration/controllers/peer/situations/endpoints.js';
import { jobs } from '#test/integration/controllers/peer/situations/jobs.js';
import { nodesAndVolumes } from '#test/integration/controllers/peer/situations/nodes.js';
import { owners } from '#test/integration/controllers/peer/situations/owners.js';
import { policies } from '#test/integration/controllers/peer/situations/policies.js';
import { replicaSets } from '#test/integration/controllers/peer/situations/replicasets.js';
import { statefulSets } from '#test/integration/controllers/peer/situations/statefulsets.js';

export const situations: readonly Situation[] = [
  ...cronJobs,
  ...daemonSets,
  ...deployments,
  ...endpointSituations,
  ...jobs,
  ...nodesAndVolumes,
  ...owners,
  ...policies,
  ...replicaSets,
  ...statefulSets,
];
