/** Rules of how versions of a custom resource become each other. */
import { validateClientConfig } from '#api/admissionregistration/v1/webhook/client-config.js';
import { isReviewVersion, reviewVersions } from '#api/admissionregistration/v1/webhook/review-versions.js';
import { declaration as schema } from '#api/apiextensions/v1/customresourcedefinition.js';
import type { CustomResourceConversion } from '#api/apiextensions/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkEnum, repeatedAt } from '#apimachinery/validation/checks.js';
import { addAll, forbiddenField, invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { dns1035LabelErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** `anyReview`: the stored definition knows none of the server's reviews either, and may stay so. */
export function validateConversion(
  conversion: CustomResourceConversion | undefined,
  anyReview: boolean,
  path: FieldPath,
): readonly FieldFailure[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  const failures = [...checkEnum(path.child('strategy'), strategy, schema.enums.ConversionStrategyType)];
  const configPath = path.child('webhookClientConfig');
  const versionsPath = path.child('conversionReviewVersions');
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const text = 'should not be set when strategy is not set to Webhook';
    if (webhook?.clientConfig !== undefined) failures.push(forbiddenField(configPath, text));
    if (versions.length > 0) failures.push(forbiddenField(versionsPath, text));
    return failures;
  }
  if (webhook?.clientConfig === undefined) {
    failures.push(required(configPath, 'required when strategy is set to Webhook'));
  } else addAll(failures, validateClientConfig(webhook.clientConfig, configPath));
  return [...failures, ...validateReviewVersions(versions, anyReview, versionsPath)];
}

function validateReviewVersions(versions: readonly string[], anyReview: boolean, path: FieldPath): FieldFailure[] {
  if (versions.length === 0) return [required(path)];
  const failures: FieldFailure[] = [];
  const repeated = repeatedAt(versions);
  versions.forEach((version, i) => {
    if (repeated.has(i)) failures.push(invalidValue(path.index(i), version, 'duplicate version'));
    else addAll(failures, invalidEach(path.index(i), version, dns1035LabelErrors(version)));
  });
  if (!anyReview && !versions.some(isReviewVersion)) {
    failures.push(invalidValue(path, versions, `must include at least one of ${reviewVersions.join(', ')}`));
  }
  return failures;
}
