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
import { AlwaysAdmit } from '#apiserver/admission/always-admit.js';
import { AlwaysDeny } from '#apiserver/admission/always-deny.js';
import { AlwaysPullImages } from '#apiserver/admission/always-pull-images.js';
import {
  CertificateApproval,
  CertificateSigning,
  CertificateSubjectRestriction,
} from '#apiserver/admission/certificates.js';
import type { PluginConfiguration } from '#apiserver/admission/configuration.js';
import { DefaultIngressClass, DefaultStorageClass } from '#apiserver/admission/default-classes.js';
import { DenyServiceExternalIPs } from '#apiserver/admission/deny-service-external-ips.js';
import { eventLimits } from '#apiserver/admission/event-rate-limit/configuration.js';
import { EventRateLimit } from '#apiserver/admission/event-rate-limit/event-rate-limit.js';
import { ExtendedResourceToleration } from '#apiserver/admission/extended-resource-toleration.js';
import { imagePolicyConfiguration } from '#apiserver/admission/image-policy/configuration.js';
import { ImagePolicyWebhook } from '#apiserver/admission/image-policy/image-policy.js';
import { LimitPodHardAntiAffinityTopology } from '#apiserver/admission/limit-pod-anti-affinity.js';
import { LimitRanger } from '#apiserver/admission/limit-ranger.js';
import { NamespaceAutoProvision } from '#apiserver/admission/namespace-auto-provision.js';
import { NamespaceExists } from '#apiserver/admission/namespace-exists.js';
import { NamespaceLifecycle } from '#apiserver/admission/namespace-lifecycle.js';
import { DefaultTolerationSeconds, TaintNodesByCondition } from '#apiserver/admission/node-conditions.js';
import { NodeRestriction } from '#apiserver/admission/node-restriction.js';
import { OwnerReferencesPermissionEnforcement } from '#apiserver/admission/owner-references/owner-references.js';
import { RestMapper } from '#apiserver/admission/owner-references/rest-mapper.js';
import { PersistentVolumeLabel } from '#apiserver/admission/persistent-volume-label.js';
import { nodeSelectors, PodNodeSelector } from '#apiserver/admission/pod-node-selector.js';
import { PodPriority } from '#apiserver/admission/pod-priority.js';
import { clusterTolerations } from '#apiserver/admission/pod-tolerations/configuration.js';
import { PodTolerationRestriction } from '#apiserver/admission/pod-tolerations/pod-tolerations.js';
import { PodSecurityMetrics } from '#apiserver/admission/podsecurity/metrics.js';
import { PodSecurity } from '#apiserver/admission/podsecurity/pod-security.js';
import { podSecurityConfiguration } from '#apiserver/admission/podsecurity/policy/configuration.js';
import { PodSecurityPolicyAdmission } from '#apiserver/admission/podsecuritypolicy/pod-security-policy.js';
import { limitedResources } from '#apiserver/admission/quota-configuration.js';
import { ResourceQuotaAdmission } from '#apiserver/admission/resource-quota.js';
import { RuntimeClassAdmission } from '#apiserver/admission/runtime-class.js';
import { SecurityContextDeny } from '#apiserver/admission/security-context-deny.js';
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
import type { WebhookBackend } from '#apiserver/webhooks/backend/backend.js';
import type { Client } from '#client/client.js';
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
  /** A client of this server with all rights; the server exists when the first request comes. */
  readonly client: () => Client;
  /** The webhook of a kubeconfig file that the plugins' configuration names. Throws OptionsError. */
  readonly openBackend: (kubeConfigFile: string, retryBackoffMs: number) => Promise<WebhookBackend>;
  /** Dependencies of webhook plugins. */
  readonly webhooks: Pick<WebhookEnvironment, 'client' | 'log' | 'metrics' | 'newUID'>;
}

interface PluginRow {
  readonly byDefault: boolean;
  /** The feature gate without which the plugin does nothing. */
  readonly gate?: FeatureGateName;
  /** The plugin takes a configuration. */
  readonly configurable?: true;
  /** 1.24 asks users to stop using the plugin. */
  readonly deprecated?: true;
  /** Throws OptionsError for a faulty configuration. */
  readonly make: (
    dependencies: PluginDependencies,
    own: PluginConfiguration | undefined,
  ) => MaybePromise<AdmissionPlugin>;
}

/** In 1.24's order (kubeapiserver/options/plugins.go, AllOrderedPlugins). */
const plugins: Readonly<Record<string, PluginRow>> = {
  AlwaysAdmit: { byDefault: false, deprecated: true, make: () => new AlwaysAdmit() },
  NamespaceAutoProvision: { byDefault: false, make: (d) => new NamespaceAutoProvision(d) },
  NamespaceLifecycle: { byDefault: true, make: (d) => new NamespaceLifecycle(d) },
  NamespaceExists: { byDefault: false, make: (d) => new NamespaceExists(d) },
  SecurityContextDeny: { byDefault: false, make: () => new SecurityContextDeny() },
  LimitPodHardAntiAffinityTopology: {
    byDefault: false,
    make: ({ dialect }) => new LimitPodHardAntiAffinityTopology(dialect),
  },
  LimitRanger: { byDefault: true, make: (d) => new LimitRanger(d) },
  ServiceAccount: { byDefault: true, make: (d) => new ServiceAccountAdmission(d) },
  NodeRestriction: { byDefault: false, make: (d) => new NodeRestriction(d) },
  TaintNodesByCondition: { byDefault: true, make: (d) => new TaintNodesByCondition(d.dialect) },
  AlwaysPullImages: { byDefault: false, make: ({ dialect }) => new AlwaysPullImages(dialect) },
  ImagePolicyWebhook: {
    byDefault: false,
    configurable: true,
    make: async (d, own) => {
      const configuration = imagePolicyConfiguration(own);
      const backend = await d.openBackend(configuration.kubeConfigFile, configuration.retryBackoffMs);
      return new ImagePolicyWebhook({ ...d, log: d.webhooks.log, backend, configuration });
    },
  },
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
  // After PodSecurity, so that its audit and warnings concern refused pods, too.
  PodSecurityPolicy: { byDefault: false, make: (d) => new PodSecurityPolicyAdmission(d) },
  PodNodeSelector: {
    byDefault: false,
    configurable: true,
    make: (d, own) => new PodNodeSelector({ ...d, selectors: nodeSelectors(own) }),
  },
  Priority: { byDefault: true, make: (d) => new PodPriority(d) },
  DefaultTolerationSeconds: { byDefault: true, make: (d) => new DefaultTolerationSeconds(d) },
  PodTolerationRestriction: {
    byDefault: false,
    configurable: true,
    make: (d, own) => new PodTolerationRestriction({ ...d, cluster: clusterTolerations(own, d.dialect) }),
  },
  EventRateLimit: {
    byDefault: false,
    configurable: true,
    make: ({ dialect, clock }, own) => new EventRateLimit({ clock, limits: eventLimits(own, dialect) }),
  },
  ExtendedResourceToleration: { byDefault: false, make: ({ dialect }) => new ExtendedResourceToleration(dialect) },
  PersistentVolumeLabel: {
    byDefault: false,
    deprecated: true,
    make: ({ dialect }) => new PersistentVolumeLabel(dialect),
  },
  DefaultStorageClass: { byDefault: true, make: (d) => new DefaultStorageClass(d) },
  StorageObjectInUseProtection: { byDefault: true, make: (d) => new StorageObjectInUseProtection(d.dialect) },
  OwnerReferencesPermissionEnforcement: {
    byDefault: false,
    make: (d) => new OwnerReferencesPermissionEnforcement({ ...d, mapper: new RestMapper(d) }),
  },
  PersistentVolumeClaimResize: { byDefault: true, make: (d) => new PersistentVolumeClaimResize(d) },
  RuntimeClass: { byDefault: true, make: (d) => new RuntimeClassAdmission(d) },
  CertificateApproval: { byDefault: true, make: (d) => new CertificateApproval(d) },
  CertificateSigning: { byDefault: true, make: (d) => new CertificateSigning(d) },
  CertificateSubjectRestriction: { byDefault: true, make: (d) => new CertificateSubjectRestriction(d.dialect) },
  DefaultIngressClass: { byDefault: true, make: (d) => new DefaultIngressClass(d) },
  DenyServiceExternalIPs: { byDefault: false, make: ({ dialect }) => new DenyServiceExternalIPs(dialect) },
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
  AlwaysDeny: { byDefault: false, deprecated: true, make: ({ dialect }) => new AlwaysDeny(dialect) },
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

/** The names in `chosen` that no plugin has. */
export function unknownPlugins(chosen: readonly string[]): string[] {
  return chosen.filter((name) => !Object.hasOwn(plugins, name));
}

/** Warnings at start about enabled plugins that are deprecated. */
export function pluginWarnings(enabled: readonly string[]): { readonly plugin: string; readonly text: string }[] {
  return enabled.flatMap((plugin) => {
    if (plugins[plugin]?.deprecated !== true) return [];
    return [{ plugin, text: 'This admission plugin is deprecated: remove it from configuration files and scripts' }];
  });
}

/** `--admission-control`: the plugins of the list and no others. As in 1.24, its order has no effect. */
export function onlyPlugins(list: readonly string[]): Pick<PluginChoice, 'enabled' | 'disabled'> {
  return { enabled: list, disabled: Object.keys(plugins).filter((name) => !list.includes(name)) };
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

/** True for the default plugins and those in `enabled`, without those in `disabled`. */
export function runsPlugin(name: string, { enabled, disabled }: Pick<PluginChoice, 'enabled' | 'disabled'>): boolean {
  return (plugins[name]?.byDefault === true || enabled.includes(name)) && !disabled.includes(name);
}

/** The plugins that run, in their order. Throws OptionsError for a faulty configuration. */
export async function admissionPlugins(
  dependencies: PluginDependencies,
  choice: PluginChoice,
): Promise<AdmissionPlugin[]> {
  const chosen: AdmissionPlugin[] = [];
  for (const [name, row] of Object.entries(plugins)) {
    if (row.gate !== undefined && !dependencies.gate(row.gate)) continue;
    if (runsPlugin(name, choice)) chosen.push(await row.make(dependencies, choice.configurations?.get(name)));
  }
  return chosen;
}
