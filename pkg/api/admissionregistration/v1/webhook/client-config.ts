/** Rules of how to reach a webhook: for admission and for the conversion of custom resources. */
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { invalidEach, invalidValue, required } from '#apimachinery/validation/failure.js';
import { portNumberErrors } from '#apimachinery/validation/identifiers.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

/** Either a URL or a service of the cluster. */
export function validateClientConfig(config: WebhookClientConfig, path: FieldPath): FieldFailure[] {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined)) {
    return [required(path, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return validateURL(url, path.child('url'));
  const at = path.child('service');
  return [
    ...checkRequired(at.child('name'), service?.name, 'service name is required'),
    ...checkRequired(at.child('namespace'), service?.namespace, 'service namespace is required'),
    ...(service?.path === undefined ? [] : validateServicePath(service.path, at.child('path'))),
    ...invalidEach(at.child('port'), service?.port ?? 443, portNumberErrors(service?.port ?? 443)),
  ];
}

function validateServicePath(value: string, path: FieldPath): FieldFailure[] {
  // One slash alone names no segment.
  if (value === '/' || value === '') return [];
  if (!value.startsWith('/')) return [invalidValue(path, value, "must start with a '/'")];
  const failures: FieldFailure[] = [];
  const segments = value.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop();
  segments.forEach((segment, i) => {
    if (segment === '') failures.push(invalidValue(path, value, `segment[${i}] may not be empty`));
    else
      failures.push(
        ...dns1123SubdomainErrors(segment).map((text) => invalidValue(path, value, `segment[${i}]: ${text}`)),
      );
  });
  return failures;
}

function validateURL(text: string, path: FieldPath): FieldFailure[] {
  const form = '; desired format: https://host[/path]';
  if (!URL.canParse(text)) return [required(path, `url must be a valid URL${form}`)];
  const url = new URL(text);
  const failures: FieldFailure[] = [];
  if (url.protocol !== 'https:') {
    failures.push(invalidValue(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`));
  }
  if (url.host === '') failures.push(invalidValue(path, url.host, `host must be specified${form}`));
  if (url.username !== '' || url.password !== '') {
    failures.push(invalidValue(path, url.username, 'user information is not permitted in the URL'));
  }
  if (url.hash !== '') failures.push(invalidValue(path, url.hash.slice(1), 'fragments are not permitted in the URL'));
  if (url.search !== '') {
    failures.push(invalidValue(path, url.search.slice(1), 'query parameters are not permitted in the URL'));
  }
  return failures;
}
