/** The errors of faults, as a server of 1.24 words them. */
import {
  conflict,
  expired,
  internalError,
  optimisticLockMessage,
  type StatusError,
  serviceUnavailable,
  timeout,
  tooManyRequests,
} from '#apimachinery/errors/status.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { ErrorAnswer } from '#testcluster/faults/rules.js';

export function faultError(
  { code, message, retryAfterSeconds }: ErrorAnswer,
  { group, resource, name }: Pick<RequestInfo, 'group' | 'resource' | 'name'>,
): StatusError {
  switch (code) {
    case 409:
      return conflict({ group, resource }, name, message ?? optimisticLockMessage);
    case 410:
      return expired(message ?? 'The provided resource version is too old');
    case 429:
      return tooManyRequests(message ?? 'too many requests, please try again later', retryAfterSeconds ?? 1);
    case 500:
      return internalError(new Error(message ?? 'a fault was injected'));
    case 503:
      return serviceUnavailable(
        message ?? 'the server is currently unable to handle the request',
        retryAfterSeconds ?? 1,
      );
    case 504:
      return timeout(message ?? 'request did not complete within the allotted timeout', retryAfterSeconds ?? 0);
  }
}
