/**
 * The plugin PodSecurityPolicy in a complete server. Its answers to the cases are compared with those of kube-apiserver
 * 1.24.17 in testdata; `RECORD=https://127.0.0.1:6443` records them from such a server, which must be new, authorize by RBAC,
 * have the plugin and not ServiceAccount, and take the tokens `admin` (of a member of system:masters) and `alice`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { type Answers, ask, grant, type Send } from '#test/integration/apiserver/pod-security-policy/ask.js';
import { call } from '#test/integration/apiserver/server.js';

t.setTimeout(180_000);

const file = fileURLToPath(
  new URL('../../../../test/integration/apiserver/pod-security-policy/testdata/answers.json', import.meta.url),
);
const peer = process.env['RECORD'];
/** Until the other server's informers have a change. */
const informerMs = 150;

const sendToPeer: Send = (who, method, path, body) =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = request(new URL(path, peer), {
      method,
      headers: {
        authorization: `Bearer ${who}`,
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
      rejectUnauthorized: false,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString()) }),
      );
    });
    outgoing.end(text);
  });

async function start(t: Test, dialect: Dialect, args: readonly string[] = []): Promise<Send> {
  const { argv } = await clusterCredentials(t, dialect, 'admin,admin,1,"system:masters"\nalice,alice,2\nbob,bob,3\n');
  const plugins = [
    '--allow-privileged',
    '--disable-admission-plugins',
    'ServiceAccount',
    '--enable-admission-plugins',
    'PodSecurityPolicy',
  ];
  const { server } = await startCompleteServer(t, { dialect, argv: [...argv, ...plugins, ...args] });
  return async (who, method, path, body) => {
    const headers = { authorization: `Bearer ${who}` };
    const { status, json } = await call(server, method, path, { headers, ...(body === undefined ? {} : { body }) });
    return { status, body: json };
  };
}

const policies = '/apis/policy/v1beta1/podsecuritypolicies';
const pods = '/api/v1/namespaces/default/pods';
/** A list waits until the cache has all changes. */
const cached = (send: Send) => async () => void (await send('admin', 'GET', policies));

t.test('every field of policies and pods', async (t) => {
  if (peer !== undefined) {
    await grant(sendToPeer, 'rbac.authorization.k8s.io');
    const answers = await ask(sendToPeer, () => sleep(informerMs));
    writeFileSync(file, `${JSON.stringify(answers, null, 1)}\n`);
    return;
  }
  const send = await start(t, kubernetesDialect);
  await grant(send, 'rbac.authorization.k8s.io');
  const answers = await ask(send, cached(send));
  const recorded = JSON.parse(readFileSync(file, 'utf8')) as Answers;
  for (const [name, own] of Object.entries(answers)) {
    for (const [one, answer] of Object.entries(own)) t.strictSame(answer, recorded[name]?.[one], `${name}: ${one}`);
  }
  t.strictSame(Object.keys(answers), Object.keys(recorded), 'all cases are recorded');
});

const any = { rule: 'RunAsAny' };
const policy = (name: string, spec: object = {}) => ({
  apiVersion: 'policy/v1beta1',
  kind: 'PodSecurityPolicy',
  metadata: { name },
  spec: { seLinux: any, runAsUser: any, supplementalGroups: any, fsGroup: any, volumes: ['*'], ...spec },
});
const pod = (name: string, context: object = {}, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', securityContext: context }], ...spec },
});
const user = (name: string) => ({ apiGroup: '', kind: 'User', name });

/** Whose rights count, and what happens to pods that exist. */
async function rights(t: Test, send: Send, settled: () => Promise<void>, dialect: Dialect): Promise<void> {
  const group = dialect.groupName('rbac');
  const rbac = `/apis/${group}/v1`;
  const annotation = `${dialect.labelDomain}/psp`;
  const role = async (name: string, rule: object, subject: object, namespaced = true) => {
    await send('admin', 'POST', `${rbac}/clusterroles`, {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [rule],
    });
    const path = namespaced ? `${rbac}/namespaces/default/rolebindings` : `${rbac}/clusterrolebindings`;
    await send('admin', 'POST', path, {
      apiVersion: `${group}/v1`,
      kind: namespaced ? 'RoleBinding' : 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [subject],
    });
    await settled();
  };
  const use = (resourceName: string, apiGroup = 'policy') => ({
    apiGroups: [apiGroup],
    resources: ['podsecuritypolicies'],
    resourceNames: [resourceName],
    verbs: ['use'],
  });
  const message = (verb: string, name: string, failures: string) =>
    `pods "${name}" is forbidden: PodSecurityPolicy: unable to ${verb} pod: [${failures}]`;
  const refused = (verb: string, name: string, failures = '') => ({
    status: 403,
    body: { reason: 'Forbidden', message: message(verb, name, failures) },
  });
  await role('write-pods', { apiGroups: [''], resources: ['pods'], verbs: ['*'] }, user('bob'));
  await send('admin', 'POST', policies, policy('a-strict', { runAsUser: { rule: 'MustRunAsNonRoot' } }));
  await send('admin', 'POST', policies, policy('b-privileged', { privileged: true }));
  await settled();
  t.match(await send('bob', 'POST', pods, pod('p')), refused('admit', 'p'), 'without the right to use a policy');
  await role('use-strict', use('a-strict'), user('bob'));
  const strict = { containers: [{ securityContext: { runAsNonRoot: true } }] };
  t.match(
    await send('bob', 'POST', pods, pod('p')),
    { status: 201, body: { metadata: { annotations: { [annotation]: 'a-strict' } }, spec: strict } },
    'with a right in the namespace',
  );
  const privileged =
    'spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed';
  const root = 'spec.containers[0].securityContext.runAsUser: Invalid value: 0: running with the root UID is forbidden';
  t.match(
    await send('bob', 'POST', pods, pod('q', { privileged: true, runAsUser: 0 })),
    refused('admit', 'q', `${root} ${privileged}`),
    'only the failures of policies that may be used',
  );
  const account = { kind: 'ServiceAccount', name: 'sa', namespace: 'default' };
  await role('use-privileged', use('b-privileged', 'extensions'), account);
  t.match(
    await send('bob', 'POST', pods, pod('q', { privileged: true }, { serviceAccountName: 'sa' })),
    { status: 201, body: { metadata: { annotations: { [annotation]: 'b-privileged' } } } },
    'by the right of the service account, in the former group',
  );
  t.match(
    await send('bob', 'POST', pods, pod('r', {}, { serviceAccountName: 'sa' })),
    { status: 201, body: { metadata: { annotations: { [annotation]: 'b-privileged' } } } },
    'a policy that changes nothing is preferred',
  );
  const stored = async (name: string) => (await send('admin', 'GET', `${pods}/${name}`)).body;
  const q = await stored('q');
  const labelled = { ...q, metadata: { ...q.metadata, labels: { a: 'b' } } };
  t.match(await send('bob', 'PUT', `${pods}/q`, labelled), { status: 200 }, 'an update under the same policy');
  await send('admin', 'DELETE', `${policies}/b-privileged`);
  await settled();
  const changed = await stored('q');
  t.match(
    await send('bob', 'PUT', `${pods}/q`, { ...changed, metadata: { ...changed.metadata, labels: { a: 'c' } } }),
    refused('validate', 'q', privileged),
    'an update without its policy',
  );
  const collected = { ...changed.metadata, finalizers: ['example.com/a'] };
  t.match(
    await send('bob', 'PUT', `${pods}/q`, { ...changed, metadata: collected }),
    { status: 200 },
    'an update of finalizers alone',
  );
  const r = await stored('r');
  t.match(
    await send('bob', 'PUT', `${pods}/r`, { ...r, metadata: { ...r.metadata, labels: { a: 'c' } } }),
    refused('validate', 'r'),
    'an update that would need a change',
  );
  t.match(await send('bob', 'DELETE', `${pods}/p`), { status: 200 }, 'a deletion');
  await send('admin', 'DELETE', `${policies}/a-strict`);
  await settled();
  t.match(
    await send('admin', 'POST', pods, pod('s')),
    {
      status: 403,
      body: { message: 'pods "s" is forbidden: PodSecurityPolicy: no providers available to validate pod request' },
    },
    'without policies, even administrators create no pods',
  );
}

if (peer !== undefined) {
  t.test('rights and updates', (t) => rights(t, sendToPeer, () => sleep(informerMs), kubernetesDialect));
} else {
  for (const dialect of [kubernetesDialect, orchDialect]) {
    t.test(`rights, updates and audit: ${dialect.name}`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'policies-'));
      t.teardown(() => rm(folder, { recursive: true, force: true }));
      const [rules, log] = [join(folder, 'policy.json'), join(folder, 'audit.log')];
      const audit = { apiVersion: `audit.${dialect.apiDomain}/v1`, kind: 'Policy', rules: [{ level: 'Metadata' }] };
      await writeFile(rules, JSON.stringify({ ...audit, omitStages: ['RequestReceived'] }));
      const send = await start(t, dialect, [`--audit-policy-file=${rules}`, `--audit-log-path=${log}`]);
      await rights(t, send, cached(send), dialect);
      const prefix = `podsecuritypolicy.policy.${dialect.apiDomain}/`;
      const expected = { [`${prefix}admit-policy`]: 'a-strict', [`${prefix}validate-policy`]: 'a-strict' };
      for (;;) {
        const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes(prefix));
        if (lines.length === 0) await clock.sleep(5);
        else {
          t.match(JSON.parse(lines[0] ?? '').annotations, expected, 'the audit event names the policy');
          break;
        }
      }
    });
  }
}
