/** The strategies of mutating and validating webhook configurations. */
import { declaration as schema } from '#api/admissionregistration/v1/mutatingwebhookconfiguration.js';
import {
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
} from '#api/admissionregistration/v1/resources.gen.js';
import { declaration as shared } from '#api/admissionregistration/v1/shared.js';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '#api/admissionregistration/v1/types.gen.js';
import { validateClientConfig } from '#api/admissionregistration/v1/webhook/client-config.js';
import { isReviewVersion, reviewVersions } from '#api/admissionregistration/v1/webhook/review-versions.js';
import type { TableRowCells } from '#api/meta/object.js';
import { validateLabelSelector } from '#api/meta/v1/labelselector/validation.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy, StrategyContext } from '#api/strategy/strategy.js';
import { age } from '#api/table/age.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkOptionalEnum, repeatedAt } from '#apimachinery/validation/checks.js';
import {
  addAll,
  duplicate,
  invalidEach,
  invalidValue,
  notSupported,
  required,
} from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors, dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { wordedRangesOf } from '#apimachinery/validation/ranges.js';

/** Validates a rule that selects requests for a webhook. */
function validateRule(rule: RuleWithOperations, path: FieldPath): FieldFailure[] {
  const failures = checkList(rule.operations, 'operations', path.child('operations'));
  rule.operations?.forEach((operation, i) => {
    if (shared.enums.OperationType.includes(operation)) return;
    failures.push(notSupported(path.child('operations').index(i), operation, shared.enums.OperationType));
  });
  addAll(failures, checkList(rule.apiGroups, 'API groups', path.child('apiGroups')));
  const versions = path.child('apiVersions');
  addAll(failures, checkList(rule.apiVersions, 'API versions', versions));
  rule.apiVersions?.forEach((version, i) => {
    if (version === '') failures.push(required(versions.index(i)));
  });
  return [
    ...failures,
    ...validateResources(rule.resources ?? [], path.child('resources')),
    ...checkOptionalEnum(path.child('scope'), rule.scope, shared.enums.ScopeType),
  ];
}

/** Must not be empty; a star must be the only element. */
function checkList(values: readonly string[] | undefined, word: string, path: FieldPath): FieldFailure[] {
  if (values === undefined || values.length === 0) return [required(path)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalidValue(path, values, `if '*' is present, must not specify other ${word}`)];
}

/** `pods`, `pods/status`, `pods/*`, `*\/scale`, `*` (no subresource), `*\/*`: none may be covered by another. */
function validateResources(resources: readonly string[], path: FieldPath): FieldFailure[] {
  if (resources.length === 0) return [required(path)];
  const failures: FieldFailure[] = [];
  const anySubresource = new Set<string>();
  const anyResource = new Set<string>();
  let plain = false;
  resources.forEach((text, i) => {
    const at = path.index(i);
    if (text === '') failures.push(required(at));
    const slash = text.indexOf('/');
    if (slash < 0) {
      // Like 1.24, only the last resource without subresource counts.
      if (text !== '') plain = text !== '*';
      return;
    }
    const resource = text.slice(0, slash);
    const subresource = text.slice(slash + 1);
    if (anySubresource.has(resource)) {
      failures.push(invalidValue(at, text, `if '${resource}/*' is present, must not specify ${text}`));
    }
    if (anyResource.has(subresource)) {
      failures.push(invalidValue(at, text, `if '*/${subresource}' is present, must not specify ${text}`));
    }
    if (subresource === '*') anySubresource.add(resource);
    if (resource === '*') anyResource.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    failures.push(invalidValue(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (plain && resources.includes('*')) {
    const text = "if '*' is present, must not specify other resources without subresources";
    failures.push(invalidValue(path, resources, text));
  }
  return failures;
}

const checkTimeout = wordedRangesOf(
  schema.types.MutatingWebhook,
  ({ minimum, maximum }) => `the timeout value must be between ${minimum} and ${maximum} seconds`,
  'timeoutSeconds',
);
const noSideEffects = ['None', 'NoneOnDryRun'];

type Webhook = ValidatingWebhook | MutatingWebhook;
type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

export const mutatingWebhookConfigurationStrategy: Strategy<MutatingWebhookConfiguration> =
  kindStrategy<MutatingWebhookConfiguration>(mutatingwebhookconfigurations, {
    ...configurationRules(),
  });

export const validatingWebhookConfigurationStrategy: Strategy<ValidatingWebhookConfiguration> =
  kindStrategy<ValidatingWebhookConfiguration>(validatingwebhookconfigurations, {
    ...configurationRules(),
  });

function configurationRules() {
  return {
    anyFinalizer: true,
    generationFields: ['webhooks'],
    allowUnconditionalUpdate: false,
    validate: (configuration: Configuration, _context: StrategyContext, old?: Configuration) =>
      validateWebhooks(configuration.webhooks ?? [], old?.webhooks),
    cells: (configuration: Configuration, context: { now: number }): TableRowCells => [
      configuration.metadata.name ?? '',
      configuration.webhooks?.length ?? 0,
      age(configuration.metadata.creationTimestamp, context.now),
    ],
  };
}

function validateWebhooks(webhooks: readonly Webhook[], old: readonly Webhook[] | undefined): FieldFailure[] {
  const path = FieldPath.of('webhooks');
  const failures: FieldFailure[] = [];
  const tolerance = toleranceOf(old ?? []);
  const names = new Set<string>();
  webhooks.forEach((webhook, i) => {
    const at = path.index(i);
    addAll(failures, validateWebhook(webhook, tolerance, at));
    const name = webhook.name ?? '';
    if (name !== '' && names.has(name) && !tolerance.sameNames) failures.push(duplicate(at.child('name'), name));
    names.add(name);
  });
  return failures;
}

/** Violations of the stored configuration, which are tolerated. */
interface Tolerance {
  readonly sideEffects: boolean;
  readonly unknownVersions: boolean;
  readonly sameNames: boolean;
}

function toleranceOf(old: readonly Webhook[]): Tolerance {
  return {
    sideEffects: old.some(({ sideEffects }) => !noSideEffects.includes(sideEffects ?? '')),
    unknownVersions: old.some(
      ({ admissionReviewVersions: versions = [] }) => versions.length > 0 && !versions.some(isReviewVersion),
    ),
    sameNames: new Set(old.map(({ name }) => name)).size < old.length,
  };
}

function validateWebhook(webhook: Webhook, tolerance: Tolerance, path: FieldPath): FieldFailure[] {
  const failures = validateName(webhook.name ?? '', path.child('name'));
  webhook.rules?.forEach((rule, i) => {
    addAll(failures, validateRule(rule, path.child('rules').index(i)));
  });
  failures.push(
    ...checkOptionalEnum(path.child('failurePolicy'), webhook.failurePolicy, schema.enums.FailurePolicyType),
    ...checkOptionalEnum(path.child('matchPolicy'), webhook.matchPolicy, schema.enums.MatchPolicyType),
    ...validateSideEffects(webhook.sideEffects, tolerance, path.child('sideEffects')),
  );
  if ('reinvocationPolicy' in webhook) {
    addAll(
      failures,
      checkOptionalEnum(
        path.child('reinvocationPolicy'),
        webhook.reinvocationPolicy,
        schema.enums.ReinvocationPolicyType,
      ),
    );
  }
  return [
    ...failures,
    ...checkTimeout(webhook, path),
    ...validateLabelSelector(webhook.namespaceSelector, path.child('namespaceSelector')),
    ...validateLabelSelector(webhook.objectSelector, path.child('objectSelector')),
    ...validateClientConfig(webhook.clientConfig ?? {}, path.child('clientConfig')),
    ...validateReviewVersions(
      webhook.admissionReviewVersions ?? [],
      tolerance.unknownVersions,
      path.child('admissionReviewVersions'),
    ),
  ];
}

/** A domain with at least three segments. */
function validateName(name: string, path: FieldPath): FieldFailure[] {
  if (name === '') return [required(path)];
  const errors = dns1123SubdomainErrors(name);
  if (errors.length > 0) return [invalidValue(path, name, errors.join(','))];
  if (name.split('.').length >= 3) return [];
  return [invalidValue(path, name, 'should be a domain with at least three segments separated by dots')];
}

function validateSideEffects(value: string | undefined, tolerance: Tolerance, path: FieldPath): FieldFailure[] {
  const allowed = tolerance.sideEffects ? [...noSideEffects, 'Some', 'Unknown'] : noSideEffects;
  if (value === undefined) return [required(path, `must specify one of ${allowed.join(', ')}`)];
  return allowed.includes(value) ? [] : [notSupported(path, value, allowed)];
}

function validateReviewVersions(versions: readonly string[], anyVersion: boolean, path: FieldPath): FieldFailure[] {
  const supported = reviewVersions.join(', ');
  if (versions.length === 0) return [required(path, `must specify one of ${supported}`)];
  const repeated = repeatedAt(versions);
  const failures = versions.flatMap((version, i) => {
    const at = path.index(i);
    if (repeated.has(i)) return [invalidValue(at, version, 'duplicate version')];
    return invalidEach(at, version, dns1035LabelErrors(version));
  });
  if (anyVersion || versions.some(isReviewVersion)) return failures;
  return [...failures, invalidValue(path, versions, `must include at least one of ${supported}`)];
}
