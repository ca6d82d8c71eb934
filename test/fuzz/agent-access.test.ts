/** A second or two of requests to a node agent that exceed the rights of their accounts. */
import t from 'tap';
import { agentUnderTest, fuzzAgentAccess, judge, parts, targets } from '#test/fuzz/agent-access.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.test('no account exceeds its rights at a node agent', async (t) => {
  t.comment(`SEED=${seed}`);
  const { answers, problems } = await fuzzAgentAccess(seed, (sent) => sent < 300);
  t.same(problems, []);
  for (const status of [400, 403]) t.ok(answers.has(status), `${status} is among the answers`);
});

t.test('each path requires exactly the right of release 1.24', async (t) => {
  const agent = await agentUnderTest();
  t.teardown(() => agent.close());
  for (const { path, part, protocol } of targets) {
    const ask = (rights: readonly string[]) => {
      const request = {
        rights,
        method: 'GET',
        target: path,
        upgrade: protocol === '' ? '' : 'websocket',
        protocol,
      } as const;
      return agent.send(request).then((answer) => ({ ...answer, problem: judge(request, answer) }));
    };
    t.match(await ask([`get ${part}`]), { status: protocol === '' ? 200 : 101, problem: undefined }, path);
    const others = parts.filter((each) => each !== part).map((each) => `get ${each}`);
    t.equal((await ask([...others, `create ${part}`])).status, 403, `${path} without it`);
  }
});

t.test('a metrics scraper cannot open a session', async (t) => {
  const agent = await agentUnderTest();
  t.teardown(() => agent.close());
  const rights = ['get metrics', 'get stats', 'get log', 'get spec'];
  const exec = 'exec/default/web/main?command=id&output=1';
  for (const target of [
    `/stats/../${exec}`,
    `/metrics/%2e%2e/${exec}`,
    `/metrics/%2E./${exec}`,
    `/stats/..\\${exec}`,
    `/stats\\..\\${exec}`,
    `/stats/..%2f${exec}`,
    `/stats/%252e%252e/${exec}`,
    `https://localhost/stats/../${exec}`,
    `https://localhost/stats/?/../${exec}`,
    `//stats/${exec}`,
    `/./stats/../${exec}`,
    `/\t${exec}`,
    '/stats/../attach/default/web/main?output=1',
    '/logs/../attach/default/web/main?output=1',
  ]) {
    for (const upgrade of ['websocket', 'SPDY/3.1'] as const) {
      const answer = await agent.send({ rights, method: 'GET', target, upgrade, protocol: 'v4.channel.k8s.io' });
      t.ok(answer.status >= 400 && answer.status < 500, `${target} gives ${answer.status}`);
    }
  }
  const forward = { rights, method: 'GET', upgrade: 'websocket', protocol: 'SPDY/3.1+portforward.k8s.io' } as const;
  const answer = await agent.send({ ...forward, target: '/stats/../portForward/default/web' });
  t.equal(answer.status, 400);
});
