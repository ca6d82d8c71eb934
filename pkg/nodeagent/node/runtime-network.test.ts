import t from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { silentLogger } from '#daemon/log/logger.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import { RuntimeNetwork } from '#nodeagent/node/runtime-network.js';
import { nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

const node = (podCIDRs: string[]): Node => ({ metadata: { name: nodeName }, spec: { podCIDRs } });

t.test('the runtime is told what it does not know', async (t) => {
  const told: string[] = [];
  let failing = false;
  const cri = {
    async updateRuntimeConfig(podCIDR: string) {
      if (failing) throw new CRIError('Unavailable', 'gone');
      told.push(podCIDR);
    },
  };
  const network = new RuntimeNetwork({ cri, log: silentLogger, podCIDR: '' });
  t.notOk(await network.tell(node([])));
  t.notOk(await network.tell(node([]), true), 'there is nothing to tell');
  failing = true;
  t.notOk(await network.tell(node(['10.0.0.0/24'])));
  failing = false;
  t.ok(await network.tell(node(['10.0.0.0/24'])));
  t.notOk(await network.tell(node(['10.0.0.0/24'])));
  t.ok(await network.tell(node(['10.0.0.0/24']), true), 'one that was started anew');
  t.ok(await network.tell(node(['10.0.0.0/24', 'fd00::/64'])));
  t.same(told, ['10.0.0.0/24', '10.0.0.0/24', '10.0.0.0/24,fd00::/64']);
  const alone = new RuntimeNetwork({ cri, log: silentLogger, podCIDR: '10.9.0.0/24' });
  t.ok(await alone.tell(node([])));
  t.ok(await alone.tell(node(['10.0.0.0/24'])));
  t.same(told.slice(3), ['10.9.0.0/24', '10.0.0.0/24'], 'the word of the node counts');
});

t.test('a node is ready, and its pods get addresses, when it has its range', async (t) => {
  const { api, clock, status, isTrue, reasons, until } = await virtualAgent(t, { podCIDR: '' });
  const ready = () => api.get(nodes, nodeName)?.status?.conditions?.find(({ type }) => type === 'Ready');
  t.match(ready(), {
    status: 'False',
    reason: 'NodeagentNotReady',
    message: /container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady/,
  });
  api.seed(pods, testPod('waits'));
  api.seed(pods, testPod('host', { hostNetwork: true }));
  await until(() => isTrue('host', 'Ready') && reasons('waits').includes('NetworkNotReady'));
  t.notOk(isTrue('waits', 'Ready'));
  // The image of the pod that runs is told once.
  await clock.advance(10_000);
  api.takeWrites();
  await clock.advance(60_000);
  t.same(
    api.takeWrites().filter((line) => line.includes('nodes/status')),
    [],
    'a node that waits does not write',
  );
  const podCIDRs = ['10.7.3.0/24', 'fd00:7:3::/64'];
  api.change<Node>(nodes, nodeName, ({ spec }) => Object.assign(spec, { podCIDR: podCIDRs[0], podCIDRs }));
  await until(() => ready()?.status === 'True');
  await until(() => isTrue('waits', 'Ready'));
  t.match(status('waits')?.podIPs, [{ ip: '10.7.3.2' }, { ip: 'fd00:7:3::2' }]);
});
