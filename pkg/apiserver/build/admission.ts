/** The admission plugins that the options enable, in the order in which they run. */
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import {
  admissionPlugins,
  onlyPlugins,
  pluginWarnings,
  runsPlugin,
  takesConfiguration,
} from '#apiserver/admission/chain/plugins.js';
import { configurationOption } from '#apiserver/admission/configuration.js';
import { RbacEscalation } from '#apiserver/admission/rbac-escalation.js';
import { LockoutWarnings } from '#apiserver/admission/webhook/lockout-warnings.js';
import { WebhookMetrics } from '#apiserver/admission/webhook/webhook-metrics.js';
import { readAdmissionConfig } from '#apiserver/build/admission-config.js';
import type { AuthorizationParts } from '#apiserver/build/authorization.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { StorageParts } from '#apiserver/build/storage.js';
import { openBackend } from '#apiserver/build/webhook-backend.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { WebhookClient } from '#apiserver/webhooks/webhook-client.js';
import type { Client } from '#client/client.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { OptionsError } from '#daemon/options/option.js';

/** Reviews of images under way at once. */
const maxImageReviews = 200;

interface AdmissionSetup {
  readonly storage: StorageParts;
  readonly authorization: AuthorizationParts;
  readonly webhooks: WebhookClient;
  /** A client of the server with all rights; called for requests. */
  readonly client: () => Client;
}

/** Reads the configuration file. Throws OptionsError. */
export async function buildAdmission(
  values: ApiServerValues,
  { dialect, clock, log, metrics, random, newUID, turns }: ServerEnvironment,
  { storage, authorization, webhooks, client }: AdmissionSetup,
): Promise<readonly AdmissionPlugin[]> {
  const { reader, storages } = storage;
  const { authorizer, rbac } = authorization;
  const choice =
    values['admission-control'].length > 0
      ? onlyPlugins(values['admission-control'])
      : { enabled: values['enable-admission-plugins'], disabled: values['disable-admission-plugins'] };
  const configurations = await readAdmissionConfig(values, dialect, (plugin) => runsPlugin(plugin, choice));
  for (const { plugin, text } of pluginWarnings(choice.enabled)) log.warn({ plugin }, text);
  for (const plugin of [...configurations.keys()].filter((name) => !takesConfiguration(name)))
    log.warn({ plugin }, 'ignoring the configuration of an admission plugin that has none');
  const gates = new FeatureGates(values['feature-gates']);
  const chosen = await admissionPlugins(
    {
      dialect,
      reader,
      authorizer,
      clock,
      storageOf: (resource) => storages.find(resource),
      client,
      openBackend: async (path, initialBackoffMs) => {
        const limits = { initialBackoffMs, maxCalls: maxImageReviews, totalMs: values['request-timeout'] };
        const backend = await openBackend({ name: configurationOption }, path, { clock, random }, limits);
        if (backend === undefined) throw new OptionsError([`--${configurationOption}: expected a kubeconfig file`]);
        return backend;
      },
      webhooks: { client: webhooks, metrics: new WebhookMetrics(metrics), log, newUID },
      turns,
      metrics,
      gate: (name) => gates.enabled(name),
      random,
      notReadySeconds: values['default-not-ready-toleration-seconds'],
      unreachableSeconds: values['default-unreachable-toleration-seconds'],
    },
    { ...choice, configurations },
  );
  log.info({ plugins: chosen.map(({ name }) => name) }, 'admission plugins, in the order in which they run');
  const plugins = [...chosen, new LockoutWarnings({ dialect, reader })];
  if (rbac === undefined) return plugins;
  return [...plugins, new RbacEscalation({ dialect, index: rbac.index, rbac: rbac.authorizer, authorizer })];
}
