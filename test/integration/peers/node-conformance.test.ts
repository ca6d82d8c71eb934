/**
 * Another project's node specs against our cluster in the `kubernetes` dialect. Skipped unless `NODE_CONFORMANCE_SPECS` is
 * the path of a program with the options of a release's `e2e.test`. The machine must be able to pull the specs' images.
 * `NODE_CONFORMANCE_ARGS`: further options in one text.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { namespaces, nodes } from '#api/core/v1/resources.gen.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { until } from '#test/integration/controllers/cluster.js';
import { own, peer, startApiServer } from '#test/integration/peers/implementations.js';
import { startNode } from '#test/integration/peers/node-agent.js';

t.setTimeout(4 * 3_600_000);

const specs = peer('NODE_CONFORMANCE_SPECS');
const more = (process.env['NODE_CONFORMANCE_ARGS'] ?? '').split(/\s+/).filter((option) => option !== '');
const skip = specs === undefined ? 'no path in NODE_CONFORMANCE_SPECS' : await skipWithoutContainers();

t.test('the specs pass', { skip }, async (t) => {
  if (specs === undefined) return;
  const running = await startApiServer(t, own('orch-apiserver'));
  const { client, pki } = running;
  running.startManager(own('orch-controller-manager'));
  running.startScheduler(own('orch-scheduler'), 0);
  const node = await startNode(t, running);
  node.startAgent(own('nodeagent'), '--cgroups-per-qos=true', '--kube-api-qps=50', '--kube-api-burst=100');
  await until(
    'the node is ready',
    () => client.resource(nodes).get(node.name),
    ({ status }) => status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
  );
  await until(
    'the namespaces are there',
    () => client.resource(namespaces).get('kube-public'),
    () => true,
  );
  const [program] = specs;
  const options = [
    `--kubeconfig=${await running.configFor('specs', pki.admin)}`,
    '--provider=skeleton',
    String.raw`--ginkgo.focus=\[NodeConformance\]`,
  ];
  // Show the report to the user.
  const child = spawn(program, [...options, ...more], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'exit');
  t.equal(code, 0, 'all specs that ran have passed');
});
