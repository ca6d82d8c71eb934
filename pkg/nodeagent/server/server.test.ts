import { once } from 'node:events';
import { request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { eventually, testPod } from '#nodeagent/testing/agent-fixture.js';
import { startServingAgent } from '#nodeagent/testing/serving-agent.js';
import { openPortForward, webSocketSession } from '#nodeagent/testing/web-socket-session.js';

function get(port: number, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    call.on('error', reject);
    call.end();
  });
}

t.test('serves pods, logs and sessions of a simulated node', async (t) => {
  const fixture = await startServingAgent();
  t.teardown(() => fixture.stop());
  const { api, agent } = fixture;
  const { port } = agent;
  api.seed(
    pods,
    testPod('web', {
      containers: [
        {
          name: 'main',
          image: 'docker.io/test/app:1.0',
          command: ['sh', '-c', 'echo one; echo two; echo three; sleep 1000'],
          readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
        },
      ],
    }),
  );
  api.seed(
    pods,
    testPod(
      'waiting',
      { containers: [{ name: 'main', image: 'docker.io/test/none:1.0' }] },
      { 'sim.orch.io/pull-failure': 'no such image' },
    ),
  );
  const phase = (name: string) => api.get(pods, `default/${name}`)?.status?.phase;
  await eventually(() => phase('web') === 'Running', 'the pod runs');
  const node = api.list((await import('#api/core/v1/resources.gen.js')).nodes)[0];
  t.equal(
    node?.status?.daemonEndpoints?.kubeletEndpoint?.Port,
    port,
    'the node reports the port that the system chose',
  );

  await t.test('plain requests', async (t) => {
    t.same(await get(port, '/healthz'), { status: 200, body: 'ok' });
    const list = JSON.parse((await get(port, '/pods')).body);
    t.same(list.items.map((pod: { metadata: { name: string } }) => pod.metadata.name).sort(), ['waiting', 'web']);
    const running = JSON.parse((await get(port, '/runningpods/')).body);
    t.same(
      running.items.map((pod: { metadata: { name: string } }) => pod.metadata.name),
      ['web'],
    );
    const stats = JSON.parse((await get(port, '/stats/summary')).body);
    t.equal(
      stats.pods.find((pod: { podRef: { name: string } }) => pod.podRef.name === 'web').containers[0].name,
      'main',
    );
    t.match((await get(port, '/metrics')).body, /^nodeagent_running_containers\{container_state="running"\} 1$/m);
    t.equal((await get(port, '/nothing')).status, 404);
  });

  await t.test('metrics of the agent', async (t) => {
    await eventually(
      async () => /_pod_start_duration_seconds_count 1$/m.test((await get(port, '/metrics')).body),
      'ran',
    );
    const { body } = await get(port, '/metrics');
    const has = (line: RegExp) => t.match(body, line);
    has(/^nodeagent_runtime_operations_total\{operation_type="run_podsandbox"\} 2$/m);
    has(/^nodeagent_runtime_operations_duration_seconds_count\{operation_type="start_container"\} 1$/m);
    has(/^nodeagent_runtime_operations_duration_seconds_bucket\{le="0.0125",operation_type="start_container"\} [01]$/m);
    has(/^nodeagent_run_podsandbox_duration_seconds_count\{runtime_handler=""\} 2$/m);
    has(/^nodeagent_pod_worker_duration_seconds_count\{operation_type="create"\} 2$/m);
    has(/^nodeagent_pod_worker_start_duration_seconds_count 2$/m);
    has(/^nodeagent_pleg_relist_duration_seconds_count \d+$/m);
    has(/^nodeagent_pleg_last_seen_seconds \d{10}/m);
    has(/^nodeagent_started_pods_total 2$/m);
    has(/^nodeagent_managed_ephemeral_containers 0$/m);
    has(/^nodeagent_started_containers_total\{container_type="container"\} \d+$/m);
    has(/^nodeagent_started_containers_errors_total\{container_type="container",code="ErrImagePull"\} 1$/m);
    has(/^nodeagent_containers_per_pod_count_sum 2$/m);
    has(
      /^nodeagent_http_requests_total\{method="GET",path="metrics",server_type="readwrite",long_running="false"\} \d+$/m,
    );
    has(/^nodeagent_http_requests_total\{method="GET",path="other",server_type="readwrite",long_running="false"\} 1$/m);
    has(/^nodeagent_http_inflight_requests\{method="GET",path="metrics",[^}]*\} 1$/m);
  });

  await t.test('pod usage and probe metrics', async (t) => {
    const lines = async (path: string) =>
      (await get(port, path)).body.split('\n').map((line) => line.replace(/ \d{13}$/, ''));
    const resource = await lines('/metrics/resource');
    t.ok(
      resource.includes('container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 1048576'),
    );
    t.ok(resource.includes('pod_memory_working_set_bytes{namespace="default",pod="web"} 1048576'));
    t.ok(resource.includes('node_memory_working_set_bytes 1048576'));
    t.ok(resource.includes('scrape_error 0'));
    const cadvisor = (await lines('/metrics/cadvisor')).join('\n');
    t.match(
      cadvisor,
      /^container_cpu_usage_seconds_total\{container="main",id="\/poduid-web-\d+\/[0-9a-f]+",image="sha256:[0-9a-f]+",name="[0-9a-f]+",namespace="default",pod="web",cpu="total"\} /m,
    );
    t.match(
      cadvisor,
      /^container_memory_working_set_bytes\{container="",id="\/poduid-web-\d+",image="",name="",namespace="default",pod="web"\} 1048576$/m,
    );
    t.match(cadvisor, /^machine_cpu_cores\{boot_id="",machine_id="",system_uuid=""\} 32$/m);
    const counted =
      /^prober_probe_total\{container="main",namespace="default",pod="web",pod_uid="uid-web-\d+",probe_type="Readiness",result="successful"\} \d+$/m;
    await eventually(async () => counted.test((await get(port, '/metrics/probes')).body), 'probes are counted');
  });

  await t.test('logs', async (t) => {
    const path = '/containerLogs/default/web/main';
    t.equal((await get(port, path)).body, 'one\ntwo\nthree\n');
    t.equal((await get(port, `${path}?tailLines=2`)).body, 'two\nthree\n');
    t.equal((await get(port, `${path}?tailLines=0`)).body, '');
    t.equal((await get(port, `${path}?limitBytes=5`)).body, 'one\nt');
    t.match((await get(port, `${path}?timestamps=true&tailLines=1`)).body, /^\d{4}-\S+Z three\n$/);
    t.equal((await get(port, `${path}?sinceTime=2999-01-01T00:00:00Z`)).body, '');
    for (const [query, status, message] of [
      ['?previous=true', 400, 'previous terminated container "main" in pod "web" not found\n'],
      ['?tailLines=-1', 400, /tailLines must be/],
      ['?sinceSeconds=1&sinceTime=2999-01-01T00:00:00Z', 400, /at most one of/],
    ] as const) {
      const response = await get(port, path + query);
      t.match(response, { status, body: message }, query);
    }
    t.equal((await get(port, '/containerLogs/default/none/main')).status, 404);
    t.equal((await get(port, '/containerLogs/default/web/none')).status, 404);
    await eventually(async () => (await get(port, '/containerLogs/default/waiting/main')).status === 400);
    t.match((await get(port, '/containerLogs/default/waiting/main')).body, /container "main" in pod "waiting" is /);
  });

  await t.test('exec ends with the exit code on the error channel', async (t) => {
    const url = `wss://127.0.0.1:${port}/exec/default/web/main?output=1&error=1&command=sh&command=-c&command=echo+out;+echo+err+%3E%262;+exit+3`;
    for (const version of ['v4', 'v5']) {
      const channels = await webSocketSession(url, undefined, `${version}.channel.k8s.io`);
      t.equal(channels[1], 'out\n');
      t.equal(channels[2], 'err\n');
      const status = JSON.parse(channels[3] ?? '');
      t.match(status, {
        status: 'Failure',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '3' }] },
      });
    }
  });

  await t.test('v5 passes on the end of standard input', async (t) => {
    const url = `wss://127.0.0.1:${port}/exec/default/web/main?input=1&output=1&command=cat`;
    const channels = await webSocketSession(url, (socket) => {
      socket.send(Buffer.from('\0hello'));
      socket.send(Buffer.from([255, 0]));
    });
    t.equal(channels[1], 'hello');
    t.match(JSON.parse(channels[3] ?? ''), { status: 'Success' });
  });

  await t.test('port-forward over SPDY reaches the runtime', async (t) => {
    const { socket, spdy, protocol } = await openPortForward(`wss://127.0.0.1:${port}/portForward/default/web`);
    t.equal(protocol, 'SPDY/3.1+portforward.k8s.io');
    const errors = spdy.open({ streamtype: 'error', port: '80', requestid: '0' });
    errors.end();
    const data = spdy.open({ streamtype: 'data', port: '80', requestid: '0' });
    data.write('GET / HTTP/1.1\r\n\r\n');
    let text = '';
    for await (const chunk of data) text += String(chunk);
    t.match(text, /Hello from web\n$/);
    spdy.close();
    socket.terminate();
  });

  await t.test('impossible sessions are rejected with a Status', async (t) => {
    const refused = (path: string, protocol: string) =>
      webSocketSession(`wss://127.0.0.1:${port}${path}`, undefined, protocol).then(
        () => 'accepted',
        (error: Error) => error.message,
      );
    t.match(await refused('/exec/default/none/main?output=1&command=ls', 'v4.channel.k8s.io'), /404/);
    t.match(await refused('/exec/default/waiting/main?output=1&command=ls', 'v4.channel.k8s.io'), /400/);
    t.match(await refused('/exec/default/web/main?output=1&command=ls', 'v1.other'), /403/);
  });
});

t.test('without anonymous access all anonymous requests are rejected', async (t) => {
  const fixture = await startServingAgent(['--anonymous-auth=false']);
  t.teardown(() => fixture.stop());
  t.equal((await get(fixture.agent.port, '/pods')).status, 401);
});

t.test('if the port is only preferred and in use, another one is used', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const fixture = await startServingAgent([`--port=${port}`], { isPortOnlyPreferred: true });
  t.teardown(() => fixture.stop());
  t.not(fixture.agent.port, port);
  t.equal((await get(fixture.agent.port, '/healthz')).status, 200);
});

t.test("debugging handlers include the agent's own endpoints", async (t) => {
  const debug = new DebugEndpoints({ argv: ['agent'], configz: { nodeagentconfig: { port: 1 } } });
  for (const [on, status] of [
    [true, 200],
    [false, 404],
  ] as const) {
    const fixture = await startServingAgent(
      [`--enable-debugging-handlers=${on}`, '--pods-per-core=3', '--max-pods=200'],
      { debug },
    );
    const response = await get(fixture.agent.port, '/configz');
    t.equal(response.status, status);
    if (on) t.same(JSON.parse(response.body), { nodeagentconfig: { port: 1 } });
    const [node] = fixture.api.list(nodes);
    t.equal(node?.status?.capacity?.['pods'], String(3 * Number(node?.status?.capacity?.['cpu'])), 'pods per core');
    await fixture.stop();
  }
});
