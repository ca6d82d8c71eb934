/** Errors of a runtime's calls. */
import { status } from '@grpc/grpc-js';
import { CRIError, type CRIErrorCode } from '#nodeagent/cri/errors.js';
import type { CallFailure } from '#nodeagent/grpc/channel.js';

const codeOf: Partial<Record<status, CRIErrorCode>> = {
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.UNAVAILABLE]: 'Unavailable',
  [status.CANCELLED]: 'Cancelled',
  [status.UNIMPLEMENTED]: 'Unimplemented',
};

/** In some calls, containerd reports missing objects as UNKNOWN; only the text tells. */
export function runtimeError({ code, message, cause }: CallFailure): CRIError {
  const name = codeOf[code] ?? (/(: |^)not found$/.test(message) ? 'NotFound' : 'Unknown');
  return new CRIError(name, message, { cause });
}
