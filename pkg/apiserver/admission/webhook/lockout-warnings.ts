/** Warns the author of a webhook configuration that could keep the cluster from recovering. */
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { namespaces, services } from '#api/core/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from '#apiserver/admission/admission.js';
import {
  type CompiledWebhook,
  compileConfiguration,
  type WebhookConfiguration,
} from '#apiserver/admission/webhook/compiled-webhook.js';
import { exemptResources, isExempt, matchesRule } from '#apiserver/admission/webhook/rules.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

type Labels = Readonly<Record<string, string>>;

/** Limit of webhooks checked per configuration: more warnings would not fit into a response. */
const maxWebhooks = 50;

export class LockoutWarnings implements AdmissionPlugin {
  readonly name = 'WebhookLockoutWarnings';
  readonly resources = exemptResources;
  readonly #dialect: Dialect;
  readonly #reader: Pick<ObjectReader, 'get'>;

  constructor({ dialect, reader }: { readonly dialect: Dialect; readonly reader: Pick<ObjectReader, 'get'> }) {
    this.#dialect = dialect;
    this.#reader = reader;
  }

  handles(attributes: AdmissionAttributes): boolean {
    const { operation, subresource } = attributes;
    return isExempt(attributes) && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
  }

  async validate({ object, warn }: AdmissionAttributes): Promise<void> {
    const dialect = this.#dialect;
    const { nodeLease, system } = dialect.namespaces;
    const webhooks = compileConfiguration(object as WebhookConfiguration).slice(0, maxWebhooks);
    const called = webhooks.flatMap(({ clientConfig: { service } }) => (service === undefined ? [] : [service]));
    const [namespaceLabels, podLabels] = await Promise.all([
      lookUpAll([system, nodeLease, ...called.map(({ namespace }) => namespace)], (name) =>
        this.#namespaceLabels(name),
      ),
      lookUpAll(called.map(keyOf), (key) => this.#podLabels(key)),
    ]);
    for (const webhook of webhooks) {
      const texts = lockouts(webhook, {
        dialect,
        namespace: (name) => namespaceLabels.get(name) ?? {},
        servicePods: (namespace, name) => podLabels.get(keyOf({ namespace, name })),
      });
      for (const text of texts) warn(text);
    }
  }

  async #namespaceLabels(name: string): Promise<Labels> {
    const namespace = await this.#reader.get(namespaces, '', name);
    // A namespace that does not exist yet will have at least this label.
    return namespace?.metadata.labels ?? { [this.#dialect.labels.metadataName]: name };
  }

  async #podLabels(key: string): Promise<Labels | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    return (await this.#reader.get(services, namespace, name))?.spec?.selector;
  }
}

function keyOf({ namespace, name }: Pick<NonNullable<WebhookClientConfig['service']>, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

async function lookUpAll<T>(keys: readonly string[], look: (key: string) => Promise<T>): Promise<Map<string, T>> {
  const unique = [...new Set(keys)];
  const values = await Promise.all(unique.map(look));
  return new Map(unique.map((key, i) => [key, values[i] as T]));
}

/** The labels needed to decide which objects a webhook is called for. */
export interface ClusterLabels {
  readonly dialect: Dialect;
  /** Labels of a namespace. */
  readonly namespace: (name: string) => Labels;
  /** Labels that the pods of a Service certainly have; undefined if unknown. */
  readonly servicePods: (namespace: string, name: string) => Labels | undefined;
}

interface Subject {
  readonly group: string;
  readonly resource: string;
  readonly operations: readonly AdmissionOperation[];
  /** Empty: cluster-wide. */
  readonly namespace: string;
  readonly labels: Labels;
}

/**
 * Warnings about a webhook that could keep the cluster from recovering: while it is down, the objects that would restore it
 * are refused. Pure.
 */
export function lockouts(webhook: CompiledWebhook, { dialect, namespace, servicePods }: ClusterLabels): string[] {
  const named = `webhook ${JSON.stringify(webhook.name)}`;
  const warnings: string[] = [];
  if (namesConfigurations(webhook, dialect)) {
    warnings.push(`${named} names webhook configurations: no webhook is asked about these`);
  }
  if (!webhook.mustAnswer) return warnings;
  const isCalled = (subject: Subject) =>
    isCalledFor(webhook, subject, subject.namespace === '' ? {} : namespace(subject.namespace));
  const pods = (at: string, labels: Labels) =>
    isCalled({ group: '', resource: 'pods', operations: ['CREATE'], namespace: at, labels });
  const { service } = webhook.clientConfig;
  const { system, nodeLease } = dialect.namespaces;
  if (service !== undefined && pods(service.namespace, servicePods(service.namespace, service.name) ?? {})) {
    const ownPods = `the pods of its own service ${service.namespace}/${service.name}`;
    warnings.push(`${named} must allow ${ownPods}: when none of them answers, none can be created; ${remedy}`);
  } else if (pods(system, {})) {
    warnings.push(
      `${named} must allow the pods of ${system}: while it does not answer, none of them can be created; ${remedy}`,
    );
  }
  const nodes = { group: '', resource: 'nodes', operations: ['CREATE', 'UPDATE'], namespace: '', labels: {} } as const;
  if (isCalled(nodes))
    warnings.push(`${named} must allow nodes: while it does not answer, no node can join or change; ${remedy}`);
  const leases = { ...nodes, group: dialect.groupName('coordination'), resource: 'leases' };
  const namespaces = [nodeLease, system].filter((at) => isCalled({ ...leases, namespace: at }));
  if (namespaces.length > 0) {
    const where = namespaces.join(' and ');
    warnings.push(
      `${named} must allow leases in ${where}: while it does not answer, nodes and controllers seem to be dead; ${remedy}`,
    );
  }
  return warnings;
}

const remedy = 'leave these out by its rules or selectors, or set failurePolicy to Ignore';

function isCalledFor(webhook: CompiledWebhook, subject: Subject, namespaceLabels: Labels): boolean {
  const { rules, namespaceSelector, objectSelector } = webhook;
  const { group, resource, operations, namespace, labels } = subject;
  const namespaced = namespace !== '';
  const matches = operations.some((operation) =>
    rules.some((rule) =>
      matchesRule(rule, { group, version: 'v1', resource }, { operation, subresource: '', namespaced }),
    ),
  );
  if (!matches || objectSelector?.matches(labels) !== true) return false;
  return !namespaced || namespaceSelector?.matches(namespaceLabels) === true;
}

/** Ignores rules with wildcards: they are not meant for configurations in particular. */
function namesConfigurations({ rules }: CompiledWebhook, dialect: Dialect): boolean {
  const group = dialect.groupName('admissionregistration');
  return rules.some(
    ({ apiGroups = [], resources = [] }) =>
      apiGroups.includes(group) && resources.some((text) => text.split('/')[0]?.endsWith('webhookconfigurations')),
  );
}
