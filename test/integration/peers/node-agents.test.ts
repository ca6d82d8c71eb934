/**
 * In the `kubernetes` dialect the node agent works with another implementation's API server, and another implementation's
 * node agent with ours: skipped unless their programs are given by path.
 */
import t from 'tap';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';
import { own, peer, startApiServer } from '#test/integration/peers/implementations.js';
import { startNode } from '#test/integration/peers/node-agent.js';
import { makeNamespace, nodeAgentWorks } from '#test/integration/peers/pod-life.js';

t.setTimeout(300_000);

const needsContainers = await skipWithoutContainers();

for (const [name, { server, agent, variable }] of Object.entries({
  'our node agent, our API server': { server: own('orch-apiserver'), agent: own('nodeagent'), variable: '' },
  'our node agent, another API server': {
    server: peer('PEER_APISERVER'),
    agent: own('nodeagent'),
    variable: 'PEER_APISERVER',
  },
  'another node agent, our API server': {
    server: own('orch-apiserver'),
    agent: peer('PEER_NODE_AGENT'),
    variable: 'PEER_NODE_AGENT',
  },
})) {
  const skip = server === undefined || agent === undefined ? `no path in ${variable}` : needsContainers;
  t.test(name, { skip }, async (t) => {
    if (server === undefined || agent === undefined) return;
    const running = await startApiServer(t, server);
    const node = await startNode(t, running);
    await makeNamespace(running.client, 'shop', running.pki.authority.certificate);
    node.startAgent(agent);
    await nodeAgentWorks(t, running.client, node);
    if (!t.passing()) t.comment(running.log());
  });
}
