/** All admission plugins by name, in running order. */

import type { Registry } from 'prom-client';
import {
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
} from '#api/admissionregistration/v1/resources.gen.js';
import { resourcequotas } from '#api/core/v1/resources.gen.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceDeclaration, ResourceType } from '#apimachinery/schema/schema.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import {
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
} from '#apiserver/admission/certificates.js';
import type { PluginConfiguration } from '#apiserver/admission/configuration.js';
import { DefaultIngressClass, DefaultStorageClass } from '#apiserver/admission/default-classes.js';
import { LimitRanger } from '#apiserver/admission/limit-ranger.js';
import { NamespaceLifecycle } from '#apiserver/admission/namespace-lifecycle.js';
import { DefaultTolerationSeconds, TaintNodesByCondition } from '#apiserver/admission/node-conditions.js';
import { NodeRestriction } from '#apiserver/admission/node-restriction.js';
import { PodPriority } from '#apiserver/admission/pod-priority.js';
import { PodSecurityMetrics } from '#apiserver/admission/podsecurity/metrics.js';
import { PodSecurity } from '#apiserver/admission/podsecurity/pod-security.js';
import { podSecurityConfiguration } from '#apiserver/admission/podsecurity/policy/configuration.js';
import { limitedResources } from '#apiserver/admission/quota-configuration.js';
import { ResourceQuotaAdmission } from '#apiserver/admission/resource-quota.js';
import { RuntimeClassAdmission } from '#apiserver/admission/runtime-class.js';
import { ServiceAccountAdmission } from '#apiserver/admission/service-account.js';
import { PersistentVolumeClaimResize, StorageObjectInUseProtection } from '#apiserver/admission/volumes.js';
import type { WebhookConfiguration } from '#apiserver/admission/webhook/compiled-webhook.js';
import { MutatingWebhooks } from '#apiserver/admission/webhook/mutating-webhooks.js';
import { ValidatingWebhooks } from '#apiserver/admission/webhook/validating-webhooks.js';
import { webhookCredentials } from '#apiserver/admission/webhook/webhook-configuration.js';
import type { WebhookEnvironment } from '#apiserver/admission/webhook/webhook-source.js';
import { WebhookSource } from '#apiserver/admission/webhook/webhook-source.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { QuotaEvaluators } from '#quota/evaluators.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface PluginDependencies {
  readonly dialect: Dialect;
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** The storage of a resource; undefined if the server has none. */
  readonly storageOf: (resource: ResourceDeclaration) => ResourceStorage | undefined;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** `--default-not-ready-toleration-seconds`, `--default-unreachable-toleration-seconds`. */
  readonly notReadySeconds: number;
  readonly unreachableSeconds: number;
  /** Lets other work run during long work. */
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly metrics: Registry;
  readonly gate: (name: FeatureGateName) => boolean;
  /** Dependencies of webhook plugins. */
  readonly webhooks: Pick<WebhookEnvironment, 'client' | 'log' | 'metrics' | 'newUID'>;
}

interface PluginRow {
  readonly byDefault: boolean;
  /** The feature gate without which the plugin does nothing. */
  readonly gate?: FeatureGateName;
  /** The plugin takes a configuration. */
  readonly configurable?: true;
  /** Throws OptionsError for a faulty configuration. */
  readonly make: (
    dependencies: PluginDependencies,
    own: PluginConfiguration | undefined,
  ) => MaybePromise<AdmissionPlugin>;
}

const plugins: Readonly<Record<string, PluginRow>> = {
  NamespaceLifecycle: { byDefault: true, make: (d) => new NamespaceLifecycle(d) },
  LimitRanger: { byDefault: true, make: (d) => new LimitRanger(d) },
  ServiceAccount: { byDefault: true, make: (d) => new ServiceAccountAdmission(d) },
  NodeRestriction: { byDefault: false, make: (d) => new NodeRestriction(d) },
  TaintNodesByCondition: { byDefault: true, make: (d) => new TaintNodesByCondition(d.dialect) },
  PodSecurity: {
    byDefault: true,
    gate: 'PodSecurity',
    configurable: true,
    make: (d, own) =>
      new PodSecurity({
        ...d,
        log: d.webhooks.log,
        configuration: podSecurityConfiguration(own, d.dialect),
        metrics: new PodSecurityMetrics(d.metrics, d.dialect),
      }),
  },
  Priority: { byDefault: true, make: (d) => new PodPriority(d) },
  DefaultTolerationSeconds: { byDefault: true, make: (d) => new DefaultTolerationSeconds(d) },
  DefaultStorageClass: { byDefault: true, make: (d) => new DefaultStorageClass(d) },
  StorageObjectInUseProtection: { byDefault: true, make: (d) => new StorageObjectInUseProtection(d.dialect) },
  PersistentVolumeClaimResize: { byDefault: true, make: (d) => new PersistentVolumeClaimResize(d) },
  RuntimeClass: { byDefault: true, make: (d) => new RuntimeClassAdmission(d) },
  CertificateApproval: { byDefault: true, make: (d) => new CertificateApproval(d) },
  CertificateSigning: { byDefault: true, make: (d) => new CertificateSigning(d) },
  CertificateSubjectRestriction: { byDefault: true, make: (d) => new CertificateSubjectRestriction(d.dialect) },
  DefaultIngressClass: { byDefault: true, make: (d) => new DefaultIngressClass(d) },
  // These run last: webhooks see the object to be stored, and quotas count only what all other plugins admit.
  MutatingAdmissionWebhook: {
    byDefault: true,
    configurable: true,
    make: async (d, own) =>
      new MutatingWebhooks(webhookSource(d, mutatingwebhookconfigurations), await environmentOf(d, own)),
  },
  ValidatingAdmissionWebhook: {
    byDefault: true,
    configurable: true,
    make: async (d, own) =>
      new ValidatingWebhooks(webhookSource(d, validatingwebhookconfigurations), await environmentOf(d, own)),
  },
  ResourceQuota: {
    byDefault: true,
    configurable: true,
    make: ({ dialect, clock, storageOf }, own) => {
      const evaluators = new QuotaEvaluators(dialect);
      return new ResourceQuotaAdmission({
        dialect,
        clock,
        evaluators,
        quotas: storageOf(resourcequotas),
        limited: limitedResources(own, dialect),
      });
    },
  },
};

async function environmentOf(d: PluginDependencies, own: PluginConfiguration | undefined): Promise<WebhookEnvironment> {
  return { ...d, ...d.webhooks, credentials: await webhookCredentials(own, d) };
}

function webhookSource<T extends WebhookConfiguration>(
  { reader, clock, storageOf, webhooks: { log } }: PluginDependencies,
  type: ResourceType<T>,
): WebhookSource<T> {
  return new WebhookSource(type, { reader, clock, log, isServed: () => storageOf(type) !== undefined });
}

/** Plugins of release 1.24 that have been replaced, and their successors. */
const replacedPlugins: ReadonlyMap<string, string> = new Map([['PodSecurityPolicy', 'PodSecurity']]);

/** Plugins of release 1.24 without effect here. */
const inertPlugins: readonly string[] = [
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'OwnerReferencesPermissionEnforcement',
  'PersistentVolumeLabel',
  'PodNodeSelector',
  'PodTolerationRestriction',
  'SecurityContextDeny',
];

/** The names in `chosen` that no plugin has. */
export function unknownPlugins(chosen: readonly string[]): string[] {
  return chosen.filter((name) => !(name in plugins) && !inertPlugins.includes(name) && !replacedPlugins.has(name));
}

/** Warnings at start about enabled plugins without effect. */
export function idlePlugins(enabled: readonly string[]): { readonly plugin: string; readonly text: string }[] {
  return enabled.flatMap((plugin) => {
    const successor = replacedPlugins.get(plugin);
    if (successor !== undefined)
      return [{ plugin, text: `This admission plugin has no effect: ${successor} replaces it` }];
    return inertPlugins.includes(plugin) ? [{ plugin, text: 'This admission plugin has no effect yet' }] : [];
  });
}

/** True for a plugin that reads its part of the configuration file. */
export function takesConfiguration(plugin: string): boolean {
  return plugins[plugin]?.configurable === true;
}

export interface PluginChoice {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** By the names of the plugins. */
  readonly configurations?: ReadonlyMap<string, PluginConfiguration>;
}

/** The enabled plugins: the default ones and `enabled`, without `disabled`. Throws OptionsError for a faulty configuration. */
export async function admissionPlugins(
  dependencies: PluginDependencies,
  { enabled, disabled, configurations }: PluginChoice,
): Promise<AdmissionPlugin[]> {
  const chosen: AdmissionPlugin[] = [];
  for (const [name, row] of Object.entries(plugins)) {
    if (row.gate !== undefined && !dependencies.gate(row.gate)) continue;
    if ((!row.byDefault && !enabled.includes(name)) || disabled.includes(name)) continue;
    chosen.push(await row.make(dependencies, configurations?.get(name)));
  }
  return chosen;
}
