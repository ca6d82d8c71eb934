/** What is particular to the configurations of admission webhooks, mutating and validating. */
import {
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
} from '#api/admissionregistration/v1/resources.gen.js';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '#api/admissionregistration/v1/types.gen.js';
import { validateClientConfig } from '#api/admissionregistration/v1/webhook/client-config.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import type { TableRowCells } from '#api/object.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkDNSSubdomain, checkEnum, checkOptionalEnum } from '#apimachinery/validation/checks.js';
import { duplicate, invalidValue, notSupported, required } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

const maxTimeoutSeconds = 30;
const defaultTimeoutSeconds = 10;
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

type Webhook = ValidatingWebhook | MutatingWebhook;
type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

export const mutatingWebhookConfigurationStrategy: Strategy<MutatingWebhookConfiguration> =
  kindStrategy<MutatingWebhookConfiguration>(mutatingwebhookconfigurations, {
    ...shared(),
    defaults(configuration) {
      for (const webhook of configuration.webhooks ?? []) {
        defaultWebhook(webhook);
        webhook.reinvocationPolicy ??= 'Never';
      }
    },
  });

export const validatingWebhookConfigurationStrategy: Strategy<ValidatingWebhookConfiguration> =
  kindStrategy<ValidatingWebhookConfiguration>(validatingwebhookconfigurations, {
    ...shared(),
    defaults: (configuration) => (configuration.webhooks ?? []).forEach(defaultWebhook),
  });

function shared() {
  return {
    generationFields: ['webhooks'],
    validate: (configuration: Configuration) => validateWebhooks(configuration.webhooks ?? []),
    cells: (configuration: Configuration, context: { now: number }): TableRowCells => [
      configuration.metadata.name ?? '',
      configuration.webhooks?.length ?? 0,
      age(configuration.metadata.creationTimestamp, context.now),
    ],
  };
}

function defaultWebhook(webhook: Webhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= defaultTimeoutSeconds;
  for (const rule of webhook.rules ?? []) rule.scope ??= '*';
  if (webhook.clientConfig?.service !== undefined) webhook.clientConfig.service.port ??= 443;
}

function validateWebhooks(webhooks: Webhook[]): FieldFailure[] {
  const path = FieldPath.of('webhooks');
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  webhooks.forEach((webhook, i) => {
    const at = path.index(i);
    failures.push(...validateWebhook(webhook, at));
    const name = webhook.name ?? '';
    if (name !== '' && names.has(name)) failures.push(duplicate(at.child('name'), name));
    names.add(name);
  });
  return failures;
}

function validateWebhook(webhook: Webhook, path: FieldPath): FieldFailure[] {
  const name = webhook.name ?? '';
  const failures = name === '' ? [required(path.child('name'))] : checkDNSSubdomain(path.child('name'), name);
  if (name !== '' && failures.length === 0 && name.split('.').length < 3) {
    const text = 'should be a domain with at least three segments separated by dots';
    failures.push(invalidValue(path.child('name'), name, text));
  }
  if ((webhook.admissionReviewVersions ?? []).length === 0) {
    failures.push(required(path.child('admissionReviewVersions'), 'must specify one of v1, v1beta1'));
  }
  webhook.rules?.forEach((rule, i) => {
    failures.push(...validateRule(rule, path.child('rules').index(i)));
  });
  failures.push(
    ...checkOptionalEnum(path.child('failurePolicy'), webhook.failurePolicy, ['Fail', 'Ignore']),
    ...checkOptionalEnum(path.child('matchPolicy'), webhook.matchPolicy, ['Equivalent', 'Exact']),
    ...checkEnum(path.child('sideEffects'), webhook.sideEffects, ['None', 'NoneOnDryRun']),
  );
  if ('reinvocationPolicy' in webhook) {
    const policies = ['IfNeeded', 'Never'];
    failures.push(...checkOptionalEnum(path.child('reinvocationPolicy'), webhook.reinvocationPolicy, policies));
  }
  const seconds = webhook.timeoutSeconds;
  if (seconds !== undefined && (seconds < 1 || seconds > maxTimeoutSeconds)) {
    const text = `the timeout value must be between 1 and ${maxTimeoutSeconds} seconds`;
    failures.push(invalidValue(path.child('timeoutSeconds'), seconds, text));
  }
  return [
    ...failures,
    ...validateLabelSelector(webhook.namespaceSelector, path.child('namespaceSelector')),
    ...validateLabelSelector(webhook.objectSelector, path.child('objectSelector')),
    ...validateClientConfig(webhook.clientConfig ?? {}, path.child('clientConfig')),
  ];
}

function validateRule(rule: RuleWithOperations, path: FieldPath): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ['operations', 'apiGroups', 'apiVersions', 'resources'] as const) {
    const values = rule[field] ?? [];
    if (values.length === 0) failures.push(required(path.child(field)));
    if (field !== 'resources' && values.length > 1 && values.includes('*')) {
      const text = `if '*' is present, must not specify other ${wordOf[field]}`;
      failures.push(invalidValue(path.child(field), values, text));
    }
  }
  rule.operations?.forEach((operation, i) => {
    if (!operations.includes(operation)) {
      failures.push(notSupported(path.child('operations').index(i), operation, operations));
    }
  });
  return [...failures, ...checkOptionalEnum(path.child('scope'), rule.scope, ['*', 'Cluster', 'Namespaced'])];
}

const wordOf = { operations: 'operations', apiGroups: 'API groups', apiVersions: 'API versions' } as const;
