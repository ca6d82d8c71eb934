/** Rules of names of signers: `example.com/signer-name`. */
import { quoted } from '#apimachinery/errors/shown.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { addAll, invalidValue, required, tooLong } from '#apimachinery/validation/failure.js';
import {
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  maxLabelLength,
  maxSubdomainLength,
  type NameValidator,
} from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** The path may hold a resource's name and a namespace: a subdomain, a dot and a label. */
const maxPathLength = maxSubdomainLength + 1 + maxLabelLength;
const maxLength = maxSubdomainLength + 1 + maxPathLength;

export function validateSignerName(name: string, path: FieldPath): FieldFailure[] {
  if (name === '') return [required(path, 'signerName must be provided')];
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0) {
    const text = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(path, name, text)];
  }
  const failures = domain.length > maxSubdomainLength ? [tooLong(path, maxSubdomainLength)] : [];
  const labels = domain.split('.');
  addAll(failures, checkParts(labels, domain, dns1123LabelErrors, path));
  if (labels.length < 2) {
    failures.push(invalidValue(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  addAll(failures, checkParts(rest.split('.'), rest, dns1123SubdomainErrors, path));
  if (name.length > maxLength) failures.push(tooLong(path, maxLength));
  return failures;
}

function checkParts(parts: readonly string[], whole: string, errors: NameValidator, path: FieldPath): FieldFailure[] {
  // Of those that follow it the same could be said.
  const wrong = parts.find((part) => errors(part).length > 0);
  if (wrong === undefined) return [];
  return errors(wrong).map((error) => invalidValue(path, whole, `validating label ${quoted(wrong)}: ${error}`));
}
