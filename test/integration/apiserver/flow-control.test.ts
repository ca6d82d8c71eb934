/** Priority and fairness of a whole server over etcd: who waits, who is refused, and who is not concerned. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ensureFlowControlObjects } from '#apiserver/bootstrap/flow-control-ensurer.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { kubectls, kubectlsFor } from '#test/e2e/harness.js';
import { startEtcd } from '#test/etcd.js';
import { startServer } from '#test/integration/apiserver/server.js';
import { openStore, SpecClient, withEtcd } from '#test/integration/apiserver/spec/spec-server.js';
import { until } from '#test/integration/daemons/api.js';

const run = promisify(execFile);
/** All seats: the narrow level gets one of them. */
const seats = 20;

interface Fixture {
  readonly server: ApiServer;
  readonly client: SpecClient;
  readonly dialect: Dialect;
  readonly as: (name: string) => { headers: Record<string, string> };
  /** Requests for `/slow` that run. */
  readonly slow: { readonly count: () => number; readonly end: () => void };
  readonly flowSchemas: string;
  readonly levels: string;
  /** Rows of a dump, with their cells. */
  readonly dump: (name: string) => Promise<string[][]>;
}

async function setup(t: Test, dialect: Dialect): Promise<Fixture> {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = openStore(etcd);
  t.teardown(() => store.close());
  const users: Readonly<Record<string, UserInfo>> = {
    root: { name: 'root', groups: [dialect.groups.masters, dialect.groups.authenticated] },
    node: { name: 'system:node:n1', groups: [dialect.groups.nodes, dialect.groups.authenticated] },
    jane: { name: 'jane', groups: [dialect.groups.authenticated] },
    bob: { name: 'bob', groups: [dialect.groups.authenticated] },
  };
  const running: (() => void)[] = [];
  const server = await startServer(t, {
    https: true,
    dialect,
    store,
    options: { priorityAndFairness: true, maxRequestsInFlight: seats, maxMutatingRequestsInFlight: 0 },
    dependencies: {
      authenticator: {
        authenticate: async ({ headers }) => users[String(headers['authorization']).split(' ')[1] ?? ''],
      },
      paths: {
        '/slow': async () => {
          const ended = deferred();
          running.push(ended.resolve);
          await ended.promise;
          return { status: 200, headers: {}, body: Buffer.from('done') };
        },
      },
    },
  });
  const user = users['root'] as UserInfo;
  const own = new RestClient({
    transport: new InProcessTransport({ handler: server.handler, user }),
    dialect,
    clock: realClock,
  });
  t.teardown(() => own.close());
  await ensureFlowControlObjects(own);
  const client = new SpecClient(server.address?.port ?? 0);
  t.teardown(() => client.close());
  t.teardown(() => {
    for (const end of running) end();
  });
  const group = `/apis/${dialect.groupName('flowcontrol')}/v1beta2`;
  const as = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });
  const levels = `${group}/prioritylevelconfigurations`;
  const flowSchemas = `${group}/flowschemas`;
  const listed = async () => (await client.ask('GET', flowSchemas, as('root'))).text;
  const before = await listed();
  await ensureFlowControlObjects(own);
  t.equal(await listed(), before, 'nothing to write the second time');
  return {
    server,
    client,
    dialect,
    as,
    flowSchemas,
    levels,
    slow: { count: () => running.length, end: () => running.shift()?.() },
    dump: async (name) => {
      const path = `/debug/api_priority_and_fairness/${name}`;
      const { text } = await client.ask('GET', path, as('root'));
      return text
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/, */));
    },
  };
}

/** A level with one seat, for requests of jane: one may wait, none when it refuses. */
async function narrow({ client, as, levels, flowSchemas, dump }: Fixture, queuing: boolean): Promise<void> {
  const limitResponse = queuing
    ? { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } }
    : { type: 'Reject' };
  const level = {
    metadata: { name: 'narrow' },
    spec: { type: 'Limited', limited: { assuredConcurrencyShares: 1, limitResponse } },
  };
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] };
  const schema = {
    metadata: { name: 'jane' },
    spec: {
      priorityLevelConfiguration: { name: 'narrow' },
      matchingPrecedence: 50,
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: 'jane' } }],
          resourceRules: [all],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  };
  await client.ask('POST', levels, { ...as('root'), body: level });
  await client.ask('POST', flowSchemas, { ...as('root'), body: schema });
  await until('the level is there', async () =>
    (await dump('dump_priority_levels')).some(([name]) => name === 'narrow'),
  );
}

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`${dialect.name}: a full level refuses, and no other level notices`, withEtcd, async (t) => {
    const fixture = await setup(t, dialect);
    const { client, as, slow, dump, levels, flowSchemas } = fixture;
    await narrow(fixture, true);
    const first = client.ask('GET', '/slow', as('jane'));
    await until('it runs', async () => slow.count() === 1);
    const second = client.ask('GET', '/slow?n=2', as('jane'));
    const narrowRow = async () => (await dump('dump_priority_levels')).find(([name]) => name === 'narrow');
    await until('the second waits', async () => (await narrowRow())?.[4] === '1');
    t.strictSame(await narrowRow(), ['narrow', '1', 'false', 'false', '1', '1'], 'the level has one of each');

    const refused = await client.ask('GET', '/version', as('jane'));
    t.equal(refused.status, 429, 'the third is refused');
    t.equal(refused.headers['retry-after'], '1', 'for a second');
    t.match(refused.json, { reason: 'TooManyRequests', message: /Too many requests, please try again later\./ });
    const { headers, status } = await client.ask('GET', '/version', as('bob'));
    t.equal(status, 200, 'another user is at another level');
    const uidOf = async (path: string) => (await client.ask('GET', path, as('root'))).json.metadata.uid;
    const prefix = dialect.name === 'orch' ? 'x-orch-pf-' : 'x-kubernetes-pf-';
    t.equal(refused.headers[`${prefix}flowschema-uid`], await uidOf(`${flowSchemas}/jane`), 'the schema is named');
    t.equal(refused.headers[`${prefix}prioritylevel-uid`], await uidOf(`${levels}/narrow`), 'and its level');
    t.equal(headers[`${prefix}prioritylevel-uid`], await uidOf(`${levels}/global-default`), 'of each response');
    t.equal((await client.ask('GET', '/livez', as('jane'))).status, 200, 'probes are exempt');
    t.equal((await client.ask('GET', '/api/v1/nodes', as('node'))).status, 200, 'nodes are not concerned');

    const [head, waiting] = await dump('dump_requests?includeRequestDetails=1');
    t.strictSame(
      head,
      [
        ...['PriorityLevelName', 'FlowSchemaName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistingsher'],
        ...['ArriveTime', 'InitialSeats', 'FinalSeats', 'AdditionalLatency'],
        ...['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'],
      ],
      'columns of requests',
    );
    t.strictSame(waiting?.slice(0, 5), ['narrow', 'jane', '0', '0', ''], 'who waits where');
    t.match(waiting?.[5], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, 'since when');
    t.strictSame(waiting?.slice(6), ['1', '0', '0s', 'jane', 'get', '/slow', '', '', '', '', ''], 'what it is');
    const queue = (await dump('dump_queues')).find(([name]) => name === 'narrow');
    t.strictSame(queue?.slice(0, 5), ['narrow', '0', '1', '1', '1'], 'its queue');
    t.strictSame(queue?.slice(6), ['1', '1', '0.00300000ss'], 'the work that waits');

    slow.end();
    t.equal((await first).status, 200, 'the first ends');
    await until('the second runs', async () => slow.count() === 1);
    slow.end();
    t.equal((await second).status, 200, 'and ends, too');
    t.strictSame(await narrowRow(), ['narrow', '0', 'true', 'false', '0', '0'], 'the level is idle');
    const { text } = await client.ask('GET', '/metrics', as('root'));
    const flow = 'priority_level="narrow",flow_schema="jane"';
    for (const line of [
      `apiserver_flowcontrol_rejected_requests_total{${flow},reason="queue-full"} 1`,
      `apiserver_flowcontrol_dispatched_requests_total{${flow}} 2`,
      `apiserver_flowcontrol_request_execution_seconds_count{${flow},type="regular"} 2`,
      'apiserver_flowcontrol_request_concurrency_limit{priority_level="narrow"} 1',
      'apiserver_current_inqueue_requests{request_kind="readOnly"} 0',
    ])
      t.ok(text.split('\n').includes(line), line);
  });
}

t.test('a wait ends with its client, and a watch takes a seat only to begin', withEtcd, async (t) => {
  const fixture = await setup(t, kubernetesDialect);
  const { server, client, as, slow, dump } = fixture;
  await narrow(fixture, true);
  const first = client.ask('GET', '/slow', as('jane'));
  await until('it runs', async () => slow.count() === 1);
  const waits = async () => (await dump('dump_requests')).length > 1;
  const outgoing = request({
    host: '127.0.0.1',
    port: server.address?.port,
    path: '/slow?n=2',
    headers: as('jane').headers,
    rejectUnauthorized: false,
    agent: false,
  });
  outgoing.on('error', () => undefined);
  outgoing.end();
  await until('the second waits', waits);
  outgoing.destroy();
  await until('its client is gone', async () => !(await waits()));
  slow.end();
  t.equal((await first).status, 200, 'the first ends');
  t.equal(slow.count(), 0, 'the second never ran');
  const watch = await client.watch(t, '/api/v1/namespaces?watch=1', as('jane').headers);
  t.equal(watch.status, 200, 'a watch is open');
  t.equal((await client.ask('GET', '/version', as('jane'))).status, 200, 'the only seat is free');
  const { text } = await client.ask('GET', '/metrics', as('root'));
  const flow = 'priority_level="narrow",flow_schema="jane"';
  t.match(text, `apiserver_flowcontrol_rejected_requests_total{${flow},reason="cancelled"} 1\n`, 'counted');
  t.match(text, `apiserver_flowcontrol_request_execution_seconds_count{${flow},type="watch"} 1\n`, 'its begin, too');
});

t.test('a removed level serves what it has, and then leaves', withEtcd, async (t) => {
  const fixture = await setup(t, kubernetesDialect);
  const { client, as, slow, dump, levels } = fixture;
  await narrow(fixture, false);
  const first = client.ask('GET', '/slow', as('jane'));
  await until('it runs', async () => slow.count() === 1);
  t.equal((await client.ask('GET', '/version', as('jane'))).status, 429, 'there is no queue');
  await client.ask('DELETE', `${levels}/narrow`, as('root'));
  const row = async () => (await dump('dump_priority_levels')).find(([name]) => name === 'narrow');
  await until('it is quiescing', async () => (await row())?.[3] === 'true');
  t.equal((await client.ask('GET', '/version', as('jane'))).status, 200, 'the schema dangles, so the next one counts');
  slow.end();
  t.equal((await first).status, 200, 'the request ends');
  t.equal(await row(), undefined, 'the level is gone');
});

const [program] = kubectlsFor('kubernetes', await kubectls());
const skip = program === undefined ? 'no kubectl on this machine' : false;

t.test('kubectl prints the objects as 1.24', { ...withEtcd, ...(skip === false ? {} : { skip }) }, async (t) => {
  const { server } = await setup(t, kubernetesDialect);
  const folder = await mkdtemp(join(tmpdir(), 'flow-control-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const cluster = { server: `https://127.0.0.1:${server.address?.port}`, 'insecure-skip-tls-verify': true };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'root' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  };
  await writeFile(join(folder, 'config'), JSON.stringify(config));
  const kubectl = async (...args: string[]) => {
    const env = { KUBECONFIG: join(folder, 'config'), HOME: folder, PATH: process.env['PATH'] };
    return (await run(program ?? '', args, { env, timeout: 30_000 })).stdout;
  };
  const schemas = await kubectl('get', 'flowschemas', '-o', 'wide');
  t.match(schemas, /^NAME +PRIORITYLEVEL +MATCHINGPRECEDENCE +DISTINGUISHERMETHOD +AGE +MISSINGPL\n/, 'columns');
  t.match(schemas, /\nsystem-nodes +system +500 +ByUser +\d+s +\?\n/, 'a row');
  const levels = await kubectl('get', 'prioritylevelconfigurations', '-o', 'wide');
  t.match(
    levels,
    /^NAME +TYPE +ASSUREDCONCURRENCYSHARES +QUEUES +HANDSIZE +QUEUELENGTHLIMIT +AGE\n/,
    'columns of levels',
  );
  t.match(levels, /\nsystem +Limited +30 +64 +6 +50 +\d+s\n/, 'a level');
  t.match(levels, /\nexempt +Exempt +<none> +<none> +<none> +<none> +\d+s\n/, 'the exempt one');
});
