/** Expected connections to services, as tables by topic. */
import { type Addresses, addressOf, all, portOf } from '#test/e2e/traffic/addresses.js';
import type { HostCluster } from '#test/e2e/traffic/cluster.js';
import { externals, half, webPods } from '#test/e2e/traffic/manifests.js';
import type { Places } from '#test/e2e/traffic/places.js';
import type { Row } from '#test/e2e/traffic/table.js';

export function serviceTables(
  cluster: HostCluster,
  at: Addresses,
  places: Places,
): Readonly<Record<string, () => Row[]>> {
  const { firstName: first, outside } = cluster;
  const inside = [...webPods, ...cluster.nodes.keys()];
  return {
    'cluster addresses': () =>
      all((family, protocol) => [
        ...places.each(inside, ({ name }) => ({
          what: 'all endpoints answer',
          to: at.cluster('all', family, protocol),
          expect: webPods,
          // Pods of other nodes, too, know each other by their own addresses.
          client: webPods.includes(name) ? at.podIP(name, family) : undefined,
        })),
        ...places.each(inside, () => ({
          what: 'no endpoint',
          to: at.cluster('unserved', family, protocol),
          expect: [],
          how: 'ECONNREFUSED',
        })),
      ]),
    'node ports': () =>
      all((family, protocol) => [
        ...[...cluster.nodes.keys()].flatMap((node) =>
          places.each([...inside, 'outside'], () => ({
            what: `at ${node}`,
            to: at.node('ported', node, family, protocol),
            expect: webPods,
          })),
        ),
        ...places.each(['outside'], () => ({
          what: 'no endpoint',
          to: at.node('unserved', 'near', family, protocol),
          expect: [],
          how: 'ECONNREFUSED',
        })),
      ]),
    'node ports of services that keep traffic on the node': () =>
      all((family, protocol) => [
        ...['near', 'far'].flatMap((node) => [
          ...places.each(['outside'], () => ({
            what: `at ${node}, from outside`,
            to: at.node('ported-kept', node, family, protocol),
            expect: [`web-${node}`],
            client: addressOf(outside, family),
          })),
          ...places.each([`web-${node}`, node], () => ({
            what: `at its own node ${node}`,
            to: at.node('ported-kept', node, family, protocol),
            expect: half,
          })),
        ]),
        ...places.each(['outside'], () => ({
          what: 'at a node without endpoints',
          to: at.node('ported-kept', first, family, protocol),
          expect: [],
          how: 'timeout',
        })),
      ]),
    'load balancers': () =>
      all((family, protocol) => [
        ...places.each([...inside, 'outside', 'stranger'], () => ({
          what: 'balanced',
          to: at.balancer('balanced', family, protocol),
          expect: webPods,
        })),
        ...places.each(['outside'], () => ({
          what: 'announced where endpoints are',
          to: at.balancer('balanced-kept', family, protocol),
          expect: ['web-near'],
          client: addressOf(outside, family),
        })),
        ...places.each(inside, () => ({
          what: 'kept on its node, from inside',
          to: at.balancer('balanced-kept', family, protocol),
          expect: half,
        })),
        ...places.each(['outside'], () => ({
          what: 'from a range that may',
          to: at.balancer('sourced', family, protocol),
          expect: webPods,
        })),
        ...places.each(['stranger', 'web-near', 'far'], () => ({
          what: 'from elsewhere',
          to: at.balancer('sourced', family, protocol),
          expect: [],
          how: 'timeout',
        })),
      ]),
    'external addresses': () =>
      all((family, protocol) =>
        places.each([...inside, 'outside'], () => ({
          what: 'external',
          to: { protocol, port: portOf[protocol], address: externals[family] },
          expect: webPods,
        })),
      ),
    'policies about nodes, and hints about zones': () =>
      all((family, protocol) => [
        ...['near', 'far'].flatMap((node) =>
          places.each([`web-${node}`, node], () => ({
            what: 'internal traffic stays on its node',
            to: at.cluster('inner', family, protocol),
            expect: [`web-${node}`],
          })),
        ),
        ...places.each(['web-first', first], () => ({
          what: 'and is dropped on nodes without an endpoint',
          to: at.cluster('inner', family, protocol),
          expect: [],
          how: 'timeout',
        })),
        ...places.each(['web-far', 'far'], () => ({
          what: 'in its zone',
          to: at.cluster('zoned', family, protocol),
          expect: ['web-far'],
        })),
        ...places.each(['web-first', 'near'], () => ({
          what: 'in its zone',
          to: at.cluster('zoned', family, protocol),
          expect: ['web-first', 'web-near'],
        })),
      ]),
  };
}
