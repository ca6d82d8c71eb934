/** How the controllers are made that need a cloud provider, or why they are not; as 1.24 says it. */
import { external } from '#cloud/registry.js';
import { CloudNodeLifecycleController } from '#controllers/cloudnodelifecycle/controller.js';
import type { ControllerFactory } from '#controllers/factory.js';
import { nodeRanges } from '#controllers/nodeipam/ranges.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import { RouteController } from '#controllers/route/controller.js';
import { ServiceController } from '#controllers/service/controller.js';

const isElsewhere = 'it runs where the external cloud provider runs';
const isExternal = (values: ControllerManagerValues): boolean => values['cloud-provider'] === external;

export const cloudControllerFactories = {
  'cloud-node-lifecycle': (context, { values, cloud }) => {
    if (isExternal(values)) return isElsewhere;
    if (cloud === undefined) return 'no cloud provider provided';
    if (cloud.instances === undefined) return 'cloud provider does not support instances';
    return new CloudNodeLifecycleController(context, {
      instances: cloud.instances,
      monitorPeriodMs: values['node-monitor-period'],
    });
  },
  route: (context, { values, cloud }) => {
    if (isExternal(values)) return isElsewhere;
    const { 'allocate-node-cidrs': allocates, 'configure-cloud-routes': configures } = values;
    if (!allocates || !configures) {
      return `Will not configure cloud provider routes for allocate-node-cidrs: ${allocates}, configure-cloud-routes: ${configures}.`;
    }
    const refused = (why: string) =>
      `configure-cloud-routes is set, but ${why}. Will not configure cloud provider routes.`;
    if (cloud === undefined) return refused('no cloud provider specified');
    if (cloud.routes === undefined) return refused('cloud provider does not support routes');
    return new RouteController(context, {
      routes: cloud.routes,
      cluster: values['cluster-name'],
      clusterRanges: nodeRanges(values).map(({ range }) => range),
      periodMs: values['route-reconciliation-period'],
    });
  },
  service: (context, { values, cloud }) => {
    if (isExternal(values)) return isElsewhere;
    if (cloud === undefined) return 'no cloud provider provided, services of type LoadBalancer will fail';
    if (cloud.loadBalancers === undefined) return 'the cloud provider does not support external load balancers';
    return new ServiceController(context, {
      balancers: cloud.loadBalancers,
      cluster: values['cluster-name'],
      concurrency: values['concurrent-service-syncs'],
    });
  },
} as const satisfies Readonly<Record<string, ControllerFactory>>;
