/** A complete API server without a socket, with its store in memory, and requests as clients send them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { startCompleteServer } from '#test/integration/apiserver/complete-server.js';

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
  readonly body: any;
  readonly warnings: readonly string[];
}

export interface WebhookCluster {
  readonly dialect: Dialect;
  send(method: string, path: string, body?: object, contentType?: string): Promise<Reply>;
  /** A GET whose response is read until it ends, fails, or the signal aborts. */
  begin(path: string, signal: AbortSignal): Promise<void>;
  /** The events of a watch after its end. */
  events(path: string): Promise<unknown[]>;
  /** Configures webhooks, and waits until the server calls them. */
  configure(kind: 'Mutating' | 'Validating', name: string, webhooks: readonly object[]): Promise<Reply>;
  remove(kind: 'Mutating' | 'Validating', name: string): Promise<void>;
  /** Lines of the metrics with that beginning. */
  metrics(prefix: string): Promise<string[]>;
}

export async function startWebhookCluster(
  t: Pick<Test, 'teardown'>,
  dialect: Dialect,
  args: readonly string[] = [],
): Promise<WebhookCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const keys = await generateRsaKey();
  const argv = [
    '--authorization-mode=AlwaysAllow',
    '--secure-port=0',
    '--service-account-issuer=https://test',
    `--service-account-signing-key-file=${await file('sa.key', privateKeyToPem(keys.privateKey))}`,
    `--service-account-key-file=${await file('sa.pub', publicKeyToPem(keys.publicKey))}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    '--disable-admission-plugins=ServiceAccount',
    ...args,
  ];
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const metrics = createRegistry({ dialect });
  const api = await startCompleteServer(t, { dialect, argv, metrics });
  const user = { name: 'alice', uid: 'u1', groups: [dialect.groups.masters], extra: { team: ['a'] } };
  const transport = new InProcessTransport({ handler: api.handler, user });
  const send = async (method: string, path: string, body?: object, contentType = 'application/json') => {
    const response = await transport.request({
      method,
      path,
      headers: { 'content-type': contentType, 'user-agent': 'tester/1' },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    });
    const text = (await readAll(response.body)).toString();
    const warnings = [...(response.headers['warning'] ?? '').matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) =>
      (match[1] ?? '').replaceAll(/\\(.)/g, '$1'),
    );
    return {
      status: response.status,
      body: response.headers['content-type']?.startsWith('application/json')
        ? (JSON.parse(text) as unknown)
        : undefined,
      warnings,
    } as Reply;
  };
  const group = dialect.apiVersion('admissionregistration', 'v1');
  const collection = (kind: string) => `/apis/${group}/${kind.toLowerCase()}webhookconfigurations`;
  /** Another webhook of each configuration refuses a label: its refusal shows that the webhooks are active. */
  const probe = (name: string) => ({
    name: `probe.${name}.test`,
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    objectSelector: { matchLabels: { probe: name } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  });
  const isAsked = async (name: string) => {
    const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe', labels: { probe: name } } };
    const { status, body } = await send('POST', path, object);
    return status === 500 && String(body.message).includes(`"probe.${name}.test"`);
  };
  return {
    dialect,
    send,
    async begin(path, signal) {
      try {
        const { body } = await transport.request({ method: 'GET', path, headers: {}, signal });
        for await (const part of body) if (part.length === 0 || signal.aborted) break;
      } catch {
        // Any end is due to this request.
      }
    },
    async events(path) {
      const { body } = await transport.request({ method: 'GET', path, headers: {} });
      const lines = (await readAll(body)).toString().split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
    },
    async configure(kind, name, webhooks) {
      const object = { apiVersion: group, kind: `${kind}WebhookConfiguration`, metadata: { name } };
      const reply = await send('POST', collection(kind), { ...object, webhooks: [...webhooks, probe(name)] });
      while (reply.status === 201 && !(await isAsked(name))) await clock.sleep(5);
      return reply;
    },
    async remove(kind, name) {
      await send('DELETE', `${collection(kind)}/${name}`);
      while (await isAsked(name)) await clock.sleep(5);
    },
    async metrics(prefix) {
      const text = await metrics.metrics();
      return text.split('\n').filter((line) => line.startsWith(prefix));
    },
  };
}
