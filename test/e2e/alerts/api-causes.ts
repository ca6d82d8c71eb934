/** Faults around the API: webhooks, audit, extension servers, extenders, and clients with too many requests. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type ClientRequest, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, createServer as createTlsServer, request } from 'node:https';
import { join } from 'node:path';
import type { Test } from 'tap';
import { validatingwebhookconfigurations } from '#api/admissionregistration/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { configmaps, namespaces, pods } from '#api/core/v1/resources.gen.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import { rolebindings } from '#api/rbac/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { listening, testAuthority } from '#client/testing/tls-server.js';
import { layoutOf } from '#cluster/config/layout.js';
import { readSettings } from '#cluster/config/settings.js';
import { again, type Cause, type Observed } from '#test/e2e/alerts/cause.js';
import { namespace, pod, shell, sleeper } from '#test/e2e/pods.js';

const dialect = dialectByName('orch');
const audited = 'audited';
const held = 'held';
const refused = 'refused';
const rare = 'example.com/rare';
const crowded = 'crowded';

/** Audit backend and extender of the test, which the API server and the scheduler call; they succeed until told to fail. */
export class Askable {
  /** `orch up` options that make the cluster call them. */
  readonly args: readonly string[];
  auditFails = false;

  private constructor(args: readonly string[], setAudit: (isFailing: () => boolean) => void) {
    this.args = args;
    setAudit(() => this.auditFails);
  }

  /** @param folder Gets the configuration files that name them. */
  static async open(t: Test, folder: string): Promise<Askable> {
    let auditFails = () => false;
    const audit = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(auditFails() ? 500 : 200).end());
    });
    // The extender fails for every pod; only pods that request the rare resource reach it.
    const extender = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(500).end());
    });
    const write = (name: string, value: object) => {
      const path = join(folder, name);
      writeFileSync(path, JSON.stringify(value));
      return path;
    };
    const auditConfig = write('audit-webhook.json', {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${await listening(t, audit)}` } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: '' } }],
      'current-context': 'a',
    });
    const policy = write('audit-policy.json', {
      apiVersion: `audit.${dialect.apiDomain}/v1`,
      kind: 'Policy',
      rules: [{ level: 'Metadata', namespaces: [audited] }, { level: 'None' }],
    });
    const scheduler = write('scheduler.json', {
      apiVersion: dialect.schedulerConfig.apiVersion,
      kind: dialect.schedulerConfig.kind,
      podMaxBackoffSeconds: 1,
      extenders: [
        {
          urlPrefix: `http://127.0.0.1:${await listening(t, extender)}`,
          filterVerb: 'filter',
          managedResources: [{ name: rare, ignoredByScheduler: true }],
        },
      ],
    });
    const args = [
      `--scheduler-config=${scheduler}`,
      ...[
        `audit-policy-file=${policy}`,
        `audit-webhook-config-file=${auditConfig}`,
        'audit-webhook-batch-max-wait=500ms',
        'audit-webhook-initial-backoff=20ms',
      ].map((option) => `--apiserver-arg=${option}`),
    ];
    return new Askable(args, (isFailing) => {
      auditFails = isFailing;
    });
  }
}

export function auditIsLost({ client }: Observed, askable: Askable): Cause {
  return {
    alerts: ['OrchAuditErrors'],
    async begin() {
      askable.auditFails = true;
      const stop = again(250, () => client.resource(configmaps).list({ namespace: audited }));
      return async () => {
        askable.auditFails = false;
        await stop();
      };
    },
  };
}

export function extenderFails({ client }: Observed): Cause {
  return {
    alerts: ['OrchSchedulerErrors'],
    async begin() {
      const wants = { resources: { requests: { [rare]: '1' }, limits: { [rare]: '1' } } };
      const names = ['rare-1', 'rare-2', 'rare-3'];
      for (const name of names) await client.resource(pods).create(pod(name, [shell(sleeper, wants)]), { namespace });
      return () => Promise.all(names.map((name) => client.resource(pods).delete(name, { namespace })));
    },
  };
}

export function extensionIsAway({ client }: Observed): Cause {
  return {
    alerts: ['OrchAggregatedAPIDown'],
    async begin() {
      const [group, version] = ['nowhere.example.com', 'v1'];
      const name = `${version}.${group}`;
      const service = { namespace, name: 'nowhere' };
      await client.resource(apiservices).create({
        metadata: { name },
        spec: { group, version, service, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true },
      });
      return () => client.resource(apiservices).delete(name);
    },
  };
}

async function makeNamespace({ client }: Observed, name: string): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
}

/** A webhook of the namespace; the result removes it. */
async function makeWebhook(
  { client }: Observed,
  of: { readonly namespace: string; readonly resources: readonly string[]; readonly groups: readonly string[] },
  where: { readonly port: number; readonly ca: string },
): Promise<() => Promise<unknown>> {
  const name = `${of.namespace}.example.com`;
  await client.resource(validatingwebhookconfigurations).create({
    metadata: { name },
    webhooks: [
      {
        name,
        clientConfig: {
          url: `https://127.0.0.1:${where.port}/`,
          caBundle: Buffer.from(where.ca).toString('base64'),
        },
        rules: [
          { operations: ['CREATE'], apiGroups: [...of.groups], apiVersions: ['v1'], resources: [...of.resources] },
        ],
        namespaceSelector: { matchLabels: { [dialect.labels.metadataName]: of.namespace } },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 3,
      },
    ],
  });
  return () => client.resource(validatingwebhookconfigurations).delete(name);
}

/** A webhook that accepts requests and never answers delays a controller with many objects. */
export function webhookHoldsUp(observed: Observed, t: Test): Cause {
  const { client } = observed;
  return {
    alerts: ['OrchControllerBehind', 'OrchControllerErrors', 'OrchClientErrors'],
    async begin() {
      await makeNamespace(observed, held);
      const authority = await testAuthority();
      const port = await listening(
        t,
        createTlsServer(authority.serving, () => undefined),
      );
      const of = { namespace: held, resources: ['replicasets'], groups: ['apps'] };
      const remove = await makeWebhook(observed, of, { port, ca: authority.certificate });
      const labels = { app: 'none' };
      const template = { metadata: { labels }, spec: { containers: [shell(sleeper)] } };
      for (let i = 0; i < 150; i++)
        await client.resource(deployments).create({
          metadata: { name: `d-${i}`, namespace: held },
          spec: { replicas: 0, selector: { matchLabels: labels }, template },
        });
      return async () => {
        await remove();
        await client.resource(namespaces).delete(held);
      };
    },
  };
}

/** A webhook without a server: every request that it must review fails. */
export function webhookIsAway(observed: Observed): Cause {
  const { client } = observed;
  return {
    alerts: ['OrchAdmissionWebhookFailing', 'OrchAPIErrorBudgetBurn/critical', 'OrchAPIErrorBudgetBurn/warning'],
    async begin() {
      await makeNamespace(observed, refused);
      const { certificate: ca } = await testAuthority();
      const of = { namespace: refused, resources: ['configmaps'], groups: [''] };
      const remove = await makeWebhook(observed, of, { port: 1, ca });
      const write = new Writer(observed, 'admin');
      // In parallel, since each is slow on a busy machine.
      const stops = Array.from({ length: 5 }, () => again(250, () => write.configMap(refused)));
      return async () => {
        await Promise.all(stops.map((stop) => stop()));
        await remove();
        await client.resource(namespaces).delete(refused);
      };
    },
  };
}

/** Writes that wait for a webhook occupy all seats of a priority level without queues, and the next ones are refused. */
export function writesTakeAllPlaces(observed: Observed, t: Test): Cause {
  const { client } = observed;
  return {
    alerts: ['OrchAPITerminatedRequests'],
    async begin() {
      await makeNamespace(observed, crowded);
      const authority = await testAuthority();
      const port = await listening(t, createTlsServer(authority.serving, reviewLate));
      const of = { namespace: crowded, resources: ['configmaps'], groups: [''] };
      const remove = await makeWebhook(observed, of, { port, ca: authority.certificate });
      const subject = {
        kind: 'User',
        apiGroup: dialect.groupName('rbac'),
        name: dialect.users.scheduler,
      };
      await client.resource(rolebindings).create({
        metadata: { name: crowded, namespace: crowded },
        roleRef: { apiGroup: subject.apiGroup, kind: 'ClusterRole', name: 'edit' },
        subjects: [subject],
      });
      await client.resource(prioritylevelconfigurations).create({
        metadata: { name: crowded },
        spec: { type: 'Limited', limited: { assuredConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
      });
      await client.resource(flowschemas).create({
        metadata: { name: crowded },
        spec: {
          matchingPrecedence: 50,
          priorityLevelConfiguration: { name: crowded },
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: subject.name } }],
              resourceRules: [{ verbs: ['*'], apiGroups: [''], resources: ['configmaps'], namespaces: [crowded] }],
            },
          ],
        },
      });
      const write = new Writer(observed, 'scheduler');
      const stops = Array.from({ length: 20 }, () => again(20, () => write.configMap(crowded)));
      return async () => {
        await Promise.all(stops.map((stop) => stop()));
        await remove();
        await client.resource(flowschemas).delete(crowded);
        await client.resource(prioritylevelconfigurations).delete(crowded);
        await client.resource(namespaces).delete(crowded);
      };
    },
  };
}

/** Allows what it reviews, a second later. */
function reviewLate(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { apiVersion, kind, request: reviewed } = JSON.parse(Buffer.concat(parts).toString());
    const review = { apiVersion, kind, response: { uid: reviewed.uid, allowed: true } };
    realClock.setTimer(() => response.end(JSON.stringify(review)), 1000);
  });
}

/** Writes once without retries, which our own clients would do. */
class Writer {
  readonly #port: number;
  readonly #agent: Agent;

  /** `user`: a client certificate of the cluster. */
  constructor({ cluster }: Observed, user: string) {
    const layout = layoutOf(cluster.dataDir);
    const text = (name: string) => readFileSync(join(layout.pki, name));
    this.#port = readSettings(layout.settings)?.apiPort ?? 0;
    const tls = { ca: text('ca.crt'), cert: text(`${user}.crt`), key: text(`${user}.key`) };
    this.#agent = new Agent({ ...tls, keepAlive: true, maxSockets: 100 });
  }

  configMap(inNamespace: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = this.#post(inNamespace);
      sent.once('error', reject);
      sent.once('response', (response) => {
        response.resume();
        response.once('end', resolve);
      });
      sent.end(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-' } }));
    });
  }

  #post(inNamespace: string): ClientRequest {
    return request({
      host: '127.0.0.1',
      port: this.#port,
      agent: this.#agent,
      method: 'POST',
      path: `/api/v1/namespaces/${inNamespace}/configmaps`,
      headers: { 'content-type': 'application/json' },
    });
  }
}
