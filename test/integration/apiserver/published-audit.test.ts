/** Attacks of the published audit of release 1.24 (NCC-E003660) on the API server; docs/security.md lists all its findings. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { namespaces, secrets } from '#api/core/v1/resources.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { auditVersion } from '#apiserver/audit/event.js';
import { OptionsError } from '#daemon/options/option.js';
import {
  addExtension,
  ask,
  condition,
  startAggregating,
} from '#test/integration/apiserver/aggregation/aggregating-server.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';

t.setTimeout(60_000);

t.test('F9W: users and front proxies have no authority in common, unless the proxies are named', async (t) => {
  const { argv } = await clusterCredentials(t, dialect, 'admin,admin,1\n');
  const [clients = ''] = argv.slice(argv.indexOf('--client-ca-file') + 1);
  const common = [...argv, `--requestheader-client-ca-file=${clients}`];
  await t.rejects(startCompleteServer(t, { dialect, argv: common }), OptionsError, 'the start ends');
  await t.rejects(
    startCompleteServer(t, { dialect, argv: common }),
    /--requestheader-client-ca-file has an authority of --client-ca-file/,
    'with the reason',
  );
  await startCompleteServer(t, { dialect, argv: [...common, '--requestheader-allowed-names=front-proxy-client'] });
});

t.test('RKV: a namespace that is a step in a path reaches no other objects', async (t) => {
  const aggregating = await startAggregating(t);
  const { server } = aggregating;
  await server.client.resource(namespaces).create({ metadata: { name: 'shop' }, spec: {} });
  await server.client.resource(secrets).create({ metadata: { name: 'hidden' } }, { namespace: 'shop' });
  for (const name of ['..', '.', '%2e%2e', '%2E', '..%2f..', 'shop%2f..']) {
    for (const query of ['', '?limit=1', '?watch=true&timeoutSeconds=1']) {
      const { status, json } = await ask(aggregating, 'admin', 'GET', `/api/v1/namespaces/${name}/pods${query}`);
      t.ok([200, 400, 404].includes(status), `${name}${query} is answered (${status})`);
      if (status === 200)
        t.same((json as { items?: unknown[] } | undefined)?.items ?? [], [], `${name}${query} has no objects`);
      t.notMatch(JSON.stringify(json ?? {}), 'hidden', `${name}${query} names no secret`);
    }
  }
});

t.test('YVU and HFV: extension servers get the true user and the true path', async (t) => {
  const aggregating = await startAggregating(t, [
    '--requestheader-username-headers=X-User-Remote',
    '--requestheader-group-headers=X-Group-Remote',
    '--requestheader-extra-headers-prefix=X-Extra-Remote-',
  ]);
  await addExtension(t, aggregating, 'echo');
  await condition(aggregating, 'v1.echo.example.com', ({ status }) => status === 'True');
  const headers = {
    'x-user-remote': 'spoofed',
    'x-group-remote': 'system:masters',
    'x-extra-remote-scopes': 'all',
    'x-remote-group': 'system:masters',
    'x-custom': 'kept',
  };
  const path = '/apis/echo.example.com/v1/echoes';
  const { status, json } = await ask(aggregating, 'admin', 'GET', path, { headers });
  t.equal(status, 200, 'the request is answered');
  const seen = (json as { headers: Record<string, string> }).headers;
  t.match(seen, { 'x-remote-user': 'admin', 'x-custom': 'kept', 'x-forwarded-uri': path }, 'the true values');
  for (const name of ['x-user-remote', 'x-group-remote', 'x-extra-remote-scopes'])
    t.notOk(Object.hasOwn(seen, name), `${name} of a client is left out`);
});

t.test('R44: the audit log names the way of authentication', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'published-audit-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const [policy, log] = [join(folder, 'policy.json'), join(folder, 'audit.log')];
  const rules = [{ level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] }];
  await writeFile(policy, JSON.stringify({ apiVersion: auditVersion(dialect), kind: 'Policy', rules }));
  const aggregating = await startAggregating(t, [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`]);
  await ask(aggregating, 'admin', 'GET', '/api/v1/namespaces/default/configmaps');
  const events = (await readFile(log, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { user: { username: string }; annotations?: Record<string, string> })
    .filter(({ user }) => user.username === 'admin');
  t.ok(events.length > 0, 'the request is recorded');
  const key = `${dialect.groupName('authentication')}/method`;
  for (const { annotations } of events) t.equal(annotations?.[key], 'token-file', 'with its method');
});
