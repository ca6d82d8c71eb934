/** A cluster with extensions: a third-party API server, and webhooks that refuse, with the clients that users have. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { sendJson, startWebhook } from '#apiserver/webhooks/testing/webhook-server.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';
import { eventually, kubectls, Running, type RunResult, root, run } from '#test/e2e/harness.js';
import { startAggregating } from '#test/integration/apiserver/aggregation/aggregating-server.js';

t.setTimeout(300_000);
// The aggregator of this server also reaches servers without an address in the cluster.
const { port, pki } = await startAggregating(t);
const folder = await mkdtemp(join(tmpdir(), 'extending-'));
t.teardown(() => rm(folder, { recursive: true }));

const file = (name: string, content: string | object): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const config = file('client.config', {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'c',
      cluster: {
        server: `https://127.0.0.1:${port}`,
        'certificate-authority-data': Buffer.from(pki.authority.certificate).toString('base64'),
      },
    },
  ],
  users: [{ name: 'u', user: { token: 'admin' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'c',
});
const orchctl = join(root, 'bin', 'orchctl');
const ctl = (...args: string[]): Promise<RunResult> => run(orchctl, args, { env: { ORCHCONFIG: config } });

function succeeded(result: RunResult, what: string): string {
  t.equal(result.code, 0, what, { stderr: result.stderr });
  return result.stdout;
}

t.test('a third-party API server', async (t) => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'sample-ca', now });
  const subject = { commonName: 'sample', organizations: [] };
  const names = ['sample.default.svc'];
  const serving = await issueCertificate(authority, { subject, usages: ['server'], names, now });
  const program = fileURLToPath(new URL('./extending/sample-server.js', import.meta.url));
  const args = [program, config, file('sample.crt', serving.certificate), file('sample.key', serving.privateKey)];
  const server = new Running(process.execPath, args, {});
  t.teardown(() => server.stop());
  const own = await eventually('the server listens', async () => /^(\d+)\n/.exec(server.stdout)?.[1]);
  const caBundle = Buffer.from(authority.certificate).toString('base64');
  const objects = file('sample.yaml', {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'sample', namespace: 'default' },
        spec: { type: 'ExternalName', externalName: 'localhost' },
      },
      {
        apiVersion: 'apiregistration.orch.io/v1',
        kind: 'APIService',
        metadata: { name: 'v1.sample.example.com' },
        spec: {
          group: 'sample.example.com',
          version: 'v1',
          service: { namespace: 'default', name: 'sample', port: Number(own) },
          groupPriorityMinimum: 1000,
          versionPriority: 10,
          caBundle,
        },
      },
    ],
  });
  succeeded(await ctl('apply', '-f', objects), 'registered');
  await eventually('the server is available', async () => (await ctl('get', 'flavors')).code === 0);
  const flavor = (name: string) => ({ apiVersion: 'sample.example.com/v1', kind: 'Flavor', metadata: { name } });
  succeeded(await ctl('create', '-f', file('one.json', flavor('vanilla'))), 'orchctl create');
  t.match(succeeded(await ctl('get', 'flavors'), 'orchctl get'), /vanilla/);
  const watching = new Running(orchctl, ['get', 'flavors', '-w'], {
    ORCHCONFIG: config,
  });
  t.teardown(() => watching.stop());
  await eventually('the watch has begun', async () => watching.stdout.includes('vanilla'));
  for (const kubectl of await kubectls()) {
    const client = (...given: string[]) => run(kubectl, given, { env: { KUBECONFIG: config } });
    succeeded(await client('create', '-f', file('two.json', flavor('lemon'))), 'kubectl create');
    t.match(succeeded(await client('get', 'flavors'), 'kubectl get'), /lemon[\s\S]*vanilla|vanilla[\s\S]*lemon/);
    t.match(succeeded(await client('get', 'flavor', 'lemon', '-o', 'jsonpath={.metadata.uid}'), 'one'), /^uid-\d+$/);
    succeeded(await client('delete', 'flavor', 'lemon'), 'kubectl delete');
    const explanation = await eventually('its kinds are explained', async () => {
      const { code, stdout } = await client('explain', 'flavors');
      return code === 0 && stdout;
    });
    t.match(explanation, /Something to taste\.[\s\S]*taste\s+<string>/);
    const denied = await client('get', 'flavors', '--as=system:serviceaccount:default:default');
    t.match(denied.stderr, /forbidden/, 'who may not, may not');
  }
  succeeded(await ctl('delete', 'flavor', 'vanilla'), 'orchctl delete');
  t.equal((await ctl('get', 'flavor', 'vanilla')).code, 1);
});

t.test('why an object is refused', async (t) => {
  const hook = await startWebhook(t, (text, response) => {
    const { apiVersion, kind, request } = JSON.parse(text);
    const { approved } = request.object.metadata.labels ?? {};
    const verdict =
      approved === 'yes' ? { allowed: true } : { allowed: false, status: { message: 'it has no approval' } };
    sendJson(response, { apiVersion, kind, response: { uid: request.uid, ...verdict } });
  });
  const configuration = file('webhook.json', {
    apiVersion: 'admissionregistration.orch.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'approval' },
    webhooks: [
      {
        name: 'approval.example.com',
        clientConfig: { url: `https://127.0.0.1:${hook.port}/`, caBundle: hook.caBundle },
        rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { 'orch.io/metadata.name': 'default' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  succeeded(await ctl('apply', '-f', configuration), 'configured');
  const map = (labels: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', labels } });
  const refused = file('refused.json', map({}));
  const explanation = await eventually('the webhook is asked', async () => {
    const { stdout } = await ctl('why', '-f', refused);
    return stdout.includes('refused') && stdout;
  });
  t.match(explanation, /^configmaps?\/one: would be refused by the admission webhook approval\.example\.com\n/);
  t.match(explanation, /denied the request: it has no approval\n/);
  t.match(explanation, /WEBHOOK +OUTCOME +TIME\n +approval\.example\.com +denied +[\d.]+ ms\n/);
  const accepted = succeeded(await ctl('why', '-f', file('accepted.json', map({ approved: 'yes' }))), 'accepted');
  t.match(accepted, /^configmaps?\/one: would be accepted\n[\s\S]*approval\.example\.com +allowed/);
  const invalid = file('invalid.json', { ...map({}), metadata: { name: 'No Name' } });
  t.match(succeeded(await ctl('why', '-f', invalid), 'invalid'), /would be refused by the /);
});
