/** Rules of webhook client configurations: for admission and for conversion of custom resources. */
import { declaration as schema } from '#api/admissionregistration/v1/shared.js';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { checkRequired } from '#apimachinery/validation/checks.js';
import { invalidValue, required } from '#apimachinery/validation/failure.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { FieldPath } from '#apimachinery/validation/path.js';
import { servicePortWording, wordedRangesOf } from '#apimachinery/validation/ranges.js';
import { oneMember } from '#apimachinery/validation/unions.js';

const checkPort = wordedRangesOf(schema.types.ServiceReference, servicePortWording, 'port');
const notOne = (path: FieldPath): FieldFailure => required(path, 'exactly one of url or service is required');
const oneWay = oneMember<WebhookClientConfig>(schema.types.WebhookClientConfig, { missing: notOne, several: notOne });

export function validateClientConfig(config: WebhookClientConfig, path: FieldPath): readonly FieldFailure[] {
  const { url, service } = config;
  const failure = oneWay(config, path);
  if (failure.length > 0) return failure;
  if (url !== undefined) return validateURL(url, path.child('url'));
  const at = path.child('service');
  return [
    // 1.24 checks the wrong fields here.
    ...checkRequired(at.child('name'), service?.namespace, 'service name is required'),
    ...checkRequired(at.child('namespace'), service?.name, 'service namespace is required'),
    ...checkPort(service, at),
    ...(service?.path === undefined ? [] : validateServicePath(service.path, at.child('path'))),
  ];
}

function validateServicePath(value: string, path: FieldPath): FieldFailure[] {
  // A single slash has no segments.
  if (value === '/' || value === '') return [];
  const failures: FieldFailure[] = [];
  if (value === '//') return [invalidValue(path, value, 'segment[0] may not be empty')];
  if (!value.startsWith('/')) failures.push(invalidValue(path, value, "must start with a '/'"));
  const segments = Buffer.from(value).subarray(1).toString('latin1').split('/');
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  segments.forEach((segment, i) => {
    if (segment === '') failures.push(invalidValue(path, value, `segment[${i}] may not be empty`));
    else
      failures.push(
        ...dns1123SubdomainErrors(segment).map((text) => invalidValue(path, value, `segment[${i}]: ${text}`)),
      );
  });
  return failures;
}

/**
 * The parts of a URL (RFC 3986, appendix B). The platform's URL class would repair invalid URLs: it adds hosts, drops
 * credentials and normalizes paths.
 */
const urlPattern = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

function validateURL(text: string, path: FieldPath): FieldFailure[] {
  const form = '; desired format: https://host[/path]';
  const [match, scheme = '', authority = '', , query = '', fragment = ''] = urlPattern.exec(text) ?? [];
  if (match === undefined || /[\u0000-\u001f\u007f]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) {
    return [required(path, `url must be a valid URL: ${JSON.stringify(text)} cannot be parsed${form}`)];
  }
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  const failures: FieldFailure[] = [];
  if (scheme.toLowerCase() !== 'https') {
    failures.push(invalidValue(path, scheme, `'https' is the only allowed URL scheme${form}`));
  }
  if (host === '') failures.push(invalidValue(path, host, `host must be provided${form}`));
  if (at >= 0) {
    failures.push(invalidValue(path, authority.slice(0, at), 'user information is not permitted in the URL'));
  }
  if (fragment !== '') failures.push(invalidValue(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') failures.push(invalidValue(path, query, 'query parameters are not permitted in the URL'));
  return failures;
}
